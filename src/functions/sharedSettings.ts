import type { LeaderRecord } from "../election/record/record.ts";
import type { HostSettings } from "../model/hostSettings.ts";
import { type Log, logEvents } from "../model/log.ts";
import type { Settings } from "../model/settings.ts";

/**
 * Settings in which all apps on one namespace should agree. Nothing relies on it: every decision of the election goes by
 * the leader's own record, every effect stands on a condition. But who shares runs shares what these settings make of
 * them, so each app tells its own and is told of others' (`differencesOf`).
 */
interface Rule {
  /** What follows from two values side by side. */
  readonly means: string;
  /** Something is lost or fails by it; else it is only odd. */
  readonly unsafe?: true;
}

const byLeader: Rule = { means: "each goes by its own while it leads" };
const hostPrefix = "extensions.queues.";

/** `undefined`: may differ. Whoever adds a setting has to say which it is. */
const ofSettings: Readonly<Record<keyof Settings, Rule | undefined>> = {
  LEASEFOLD_KEEP_DAYS: { means: "old runs go after the shorter time, 0 is never", unsafe: true },
  LEASEFOLD_CALCULATIONS: {
    means: "a run waits for an app that has its code",
    unsafe: true,
  },
  LEASEFOLD_SOURCES: { means: "packs fail where their source is not allowed", unsafe: true },
  LEASEFOLD_PACK_LIMIT_S: { means: "whether a long pack fails depends on who takes it" },
  LEASEFOLD_LEASE_S: byLeader,
  LEASEFOLD_BUDGET_S: byLeader,
  LEASEFOLD_EARLY_TAKEOVER: byLeader,
  LEASEFOLD_LOOP_MS: byLeader,
  LEASEFOLD_LOOP_FAST_MS: byLeader,
  // Apps with different namespaces or accounts never meet.
  LEASEFOLD_NAMESPACE: undefined,
  // These are of one instance or one region.
  LEASEFOLD_SCHEDULE: undefined,
  LEASEFOLD_INSTANCE: undefined,
  LEASEFOLD_REGION: undefined,
  LEASEFOLD_THREADS: undefined,
  LEASEFOLD_THREAD_MEMORY_MB: undefined,
  LEASEFOLD_WATCH: undefined,
};
const ofHost: Readonly<Record<string, Rule>> = {
  [`${hostPrefix}messageEncoding`]: { means: "one of them cannot read its messages", unsafe: true },
  [`${hostPrefix}maxDequeueCount`]: { means: "failing packs are tried as often as the smaller one says" },
};
const rules = new Map<string, Rule | undefined>(Object.entries({ ...ofSettings, ...ofHost }));

/** Longer ones are cut: they travel with each beat, in metadata that others need too. */
const valueCharactersMax = 200;
const cut = (text: string): string =>
  text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax - 1)}…` : text;

/**
 * The values that an app tells, by the names of their settings. `calculations` are the identities of
 * those of the user's files: their code must agree, their paths need not.
 */
export function sharedSettings(
  settings: Settings,
  { queues }: HostSettings,
  calculations: readonly string[],
): Readonly<Record<string, string>> {
  const own = Object.keys(ofSettings)
    .filter((name) => rules.get(name) !== undefined)
    .map((name): [string, string] => [name, String(settings[name as keyof Settings] ?? "")]);
  return {
    ...Object.fromEntries(own),
    LEASEFOLD_CALCULATIONS: cut([...calculations].sort().join(", ")),
    [`${hostPrefix}messageEncoding`]: queues.messageEncoding,
    [`${hostPrefix}maxDequeueCount`]: String(queues.maxDequeueCount),
  };
}

export interface Differences {
  readonly unsafe: boolean;
  /** One line: each setting, its value here and there, and what follows. */
  readonly message: string;
}

/** What others tell may be of another version: only names that both know are compared. */
export function differencesOf(
  here: Readonly<Record<string, string>>,
  there: Readonly<Record<string, string>>,
): Differences | undefined {
  const found = Object.entries(here).flatMap(([name, value]) => {
    const rule = rules.get(name);
    const other = Object.hasOwn(there, name) ? there[name] : undefined;
    if (rule === undefined || other === undefined || other === value) return [];
    return [{ ...rule, says: `${name} is ${value || "empty"} here and ${cut(other) || "empty"} there` }];
  });
  if (found.length === 0) return undefined;
  return {
    unsafe: found.some(({ unsafe }) => unsafe),
    message: found.map(({ says, means }) => `${says} (${means})`).join("; "),
  };
}

type About = Readonly<Record<string, string>>;

/** More differences than this in the life of one process are not told. */
const toldMax = 100;

/**
 * Says once when another app on this namespace runs with other settings: the lease record tells those of whoever
 * wrote it, and every contender reads it. `about` is what this process tells of itself.
 */
export function settingsLog(log: Log, about: About): (record: LeaderRecord) => void {
  const told = new Set<string>();
  return ({ holder, about: there }) => {
    const found = there === undefined ? undefined : differencesOf(about, there);
    if (found === undefined || there === undefined) return;
    // By app and not by holder: the instances of an app come and go, and what is wrong stays the same.
    const key = `${there["app"]} ${found.message}`;
    if (told.has(key) || told.size >= toldMax) return;
    told.add(key);
    log(
      logEvents.settingsDiffer(found.unsafe ? "error" : "warn", {
        message: found.message,
        holder,
        ...(there["app"] === undefined ? {} : { app: there["app"] }),
        ...(there["version"] === undefined ? {} : { version: there["version"] }),
      }),
    );
  };
}
