import type { LeaderRecord } from "../../election/record/record.ts";
import type { HostSettings } from "../../engine/model/hostSettings.ts";
import { type Log, logEvents } from "../../engine/model/log.ts";
import type { Settings } from "../../engine/model/settings.ts";

/**
 * A setting in which all apps on one namespace should agree. Safety does not depend on it, but runs do, so each app
 * publishes its own values and logs how others' differ.
 */
interface Rule {
  /** What different values cause. */
  readonly means: string;
  /** Something is lost or fails; otherwise it is only surprising. */
  readonly unsafe?: true;
}

const byLeader: Rule = { means: "each app uses its own while it leads" };
const hostPrefix = "extensions.queues.";

/** `undefined`: may differ. The type forces a decision on each new setting. */
const ofSettings: Readonly<Record<keyof Settings, Rule | undefined>> = {
  LEASEFOLD_KEEP_DAYS: { means: "old runs go after the shorter time, 0 is never", unsafe: true },
  LEASEFOLD_CALCULATIONS: { means: "a run waits for an app that has its code", unsafe: true },
  LEASEFOLD_SOURCES: { means: "packs fail where their source is not allowed", unsafe: true },
  LEASEFOLD_ENV: {
    means: "a pack finds a variable or not, depending on the app that takes it",
    unsafe: true,
  },
  LEASEFOLD_ENDED_QUEUE: {
    means: "whether a run has a completion event in the queue depends on who leads",
    unsafe: true,
  },
  LEASEFOLD_PACK_LIMIT_S: { means: "whether a long pack fails depends on the app that takes it" },
  LEASEFOLD_MAX_COST: { means: "what a run may cost depends on who leads it first" },
  LEASEFOLD_LEASE_S: byLeader,
  LEASEFOLD_BUDGET_S: byLeader,
  LEASEFOLD_EARLY_TAKEOVER: byLeader,
  LEASEFOLD_LOOP_MS: byLeader,
  LEASEFOLD_LOOP_FAST_MS: byLeader,
  // Apps with different namespaces share nothing.
  LEASEFOLD_NAMESPACE: undefined,
  // These belong to one instance or one region.
  LEASEFOLD_SCHEDULE: undefined,
  LEASEFOLD_INSTANCE: undefined,
  LEASEFOLD_ONLY: undefined,
  LEASEFOLD_REGION: undefined,
  LEASEFOLD_THREADS: undefined,
  LEASEFOLD_PLAN_WORKERS: undefined,
  LEASEFOLD_THREAD_MEMORY_MB: undefined,
  LEASEFOLD_INSTANCE_MEMORY_MB: undefined,
  LEASEFOLD_WATCH: undefined,
  // One app may serve people who read, and another those who act.
  LEASEFOLD_READ_ONLY: undefined,
  LEASEFOLD_RESULT_LINKS: undefined,
};
const ofHost: Readonly<Record<string, Rule>> = {
  [`${hostPrefix}messageEncoding`]: { means: "one of them cannot read its messages", unsafe: true },
  [`${hostPrefix}maxDequeueCount`]: { means: "failing packs are tried as often as the smaller value allows" },
};
const rules = new Map<string, Rule | undefined>(Object.entries({ ...ofSettings, ...ofHost }));

/** Longer values are cut: they are part of each heartbeat, in metadata that has other uses. */
const valueCharactersMax = 200;
const cut = (text: string): string =>
  text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax - 1)}…` : text;

/**
 * The values that an app publishes, by setting. `calculations` are the identities of the user's calculations: their code
 * must agree, their paths need not.
 */
export function sharedSettings(
  settings: Settings,
  { queues }: HostSettings,
  calculations: readonly string[],
): About {
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

type About = Readonly<Record<string, string>>;

/**
 * The settings that differ, in one line with both values and what that causes. The other app may be of another version, so
 * only names that both know are compared.
 */
export function differencesOf(here: About, there: About) {
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

/** Differences that one process logs at most. */
const loggedMax = 100;

/**
 * Logs each difference once when another app on this namespace, or an earlier deployment of this one, has other settings:
 * the lease record holds those of its writer, and every contender reads it. `about` is what this process publishes.
 */
export function settingsLog(log: Log, about: About): (record: LeaderRecord) => void {
  const logged = new Set<string>();
  return ({ holder, about: there }) => {
    const found = there === undefined ? undefined : differencesOf(about, there);
    if (found === undefined || there === undefined) return;
    // By app and not by holder: instances come and go, and the difference stays.
    const key = `${there["app"]} ${found.message}`;
    if (logged.has(key) || logged.size >= loggedMax) return;
    logged.add(key);
    const { app, version } = there;
    const writer = { ...(app === undefined ? {} : { app }), ...(version === undefined ? {} : { version }) };
    // Instances of one app differ only while it is deployed, or while "up --watch" restarts them.
    const isDeployed = app !== undefined && app === about["app"];
    const level = isDeployed ? "info" : found.unsafe ? "error" : "warn";
    log(logEvents.settingsDiffer(level, { message: found.message, holder, ...writer }));
  };
}
