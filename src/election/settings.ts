import { ConfigError } from "../engine/model/errors.ts";
import type { HostSettings } from "../engine/model/hostSettings.ts";
import type { Settings } from "../engine/model/settings.ts";

/**
 * Timings for those who pay for a faster takeover of a dead leader: twice the heartbeats of a leader and twice the polls of
 * contenders that wait. The relations hold: three heartbeats in a row may fail. See docs/ELECTION.md for figures and cost.
 */
export const fastTakeover = {
  heartbeatEveryMs: 500,
  heartbeatCapMs: 450,
  pollEveryMs: 250,
  breakAfterMs: 3_000,
  breakJitterMs: 150,
} as const satisfies Partial<ElectionSettings>;

/** Timings of one election. All contenders for a lease should run with the same ones, but none relies on it. */
export interface ElectionSettings {
  /** 15–60 s, the service's own limits for a lease that ends. Default 15. */
  readonly leaseDurationS: number;
  /** Work stops this long before the lease can be another's. Default 2,000. */
  readonly marginMs: number;
  /** Default a third of the lease, so that two renewals may fail. */
  readonly renewEveryMs: number;
  /** Pause before a failed call is retried. Default 1,000. */
  readonly renewAgainMs: number;
  /** Each lease call but a heartbeat is cut off after this. Default 2,000. */
  readonly requestCapMs: number;
  /** Default 1,000. */
  readonly heartbeatEveryMs: number;
  /** Shorter than the heartbeat, so that one heartbeat is in flight at a time. Default 900. */
  readonly heartbeatCapMs: number;
  /**
   * Published with the term: a challenger may break the lease once the record is this old. Default 0, never:
   * early takeover is safe only if every effect is a conditional write.
   */
  readonly breakAfterMs: number;
  /** A task that reports no progress for so long is ended. Default 0, no such gate. */
  readonly stallAfterMs: number;
  /** Time between two polls of a contender that waits. Default 500. */
  readonly pollEveryMs: number;
  /** Wait as a contender until the budget ends, instead of polling once. Default false. */
  readonly watching: boolean;
  /** Challengers spread their breaks over at least this, and over four of their own round trips. Default 300. */
  readonly breakJitterMs: number;
  /** Longest time from the start of the invocation to the end of leadership. Default no limit. */
  readonly budgetMs: number;
  /** When the host kills the invocation. Default never. */
  readonly functionTimeoutMs: number;
  /** Kept free before `functionTimeoutMs` to drain, write the last record and release. Default 12,000. */
  readonly functionMarginMs: number;
  /** How long a task may take to end after its signal fired, before the lease is left to expire. Default 5,000. */
  readonly drainCapMs: number;
  /** With less remaining budget than this nobody starts to lead. Default one lease length. */
  readonly leastTermMs: number;
  /** Attempts at one step (poll, acquire, record) in all. Default 3. */
  readonly tries: number;
}

/** The age of a record has a resolution of one second, because both of its times are whole seconds. */
export const ageResolutionMs = 1_000;

export const stopWorkMs = (settings: ElectionSettings): number =>
  settings.leaseDurationS * 1_000 - settings.marginMs;

/** Fills in defaults and checks every name, type and relation; throws `ConfigError` that names the first that is wrong. */
export function electionSettings(chosen: Partial<ElectionSettings> = {}): ElectionSettings {
  const leaseDurationS = chosen.leaseDurationS ?? 15;
  const defaults: ElectionSettings = {
    leaseDurationS,
    marginMs: 2_000,
    renewEveryMs: Math.floor((leaseDurationS * 1_000) / 3),
    renewAgainMs: 1_000,
    requestCapMs: 2_000,
    heartbeatEveryMs: 1_000,
    heartbeatCapMs: 900,
    breakAfterMs: 0,
    stallAfterMs: 0,
    pollEveryMs: 500,
    watching: false,
    breakJitterMs: 300,
    budgetMs: Number.POSITIVE_INFINITY,
    functionTimeoutMs: Number.POSITIVE_INFINITY,
    functionMarginMs,
    drainCapMs: 5_000,
    leastTermMs: leaseDurationS * 1_000,
    tries: 3,
  };
  const given = Object.entries(chosen).filter(([, value]) => value !== undefined);
  const types = Object.entries(defaults).map(([name, value]) => [name, typeof value] as const);
  for (const [name, value] of given) checkGiven(name, value, new Map(types));
  const settings = { ...defaults, ...Object.fromEntries(given) };
  for (const [relation, holds] of relations(settings)) if (!holds) throw wrong(relation);
  return settings;
}

/** A misspelled setting would leave its default in force, and a number in a text compares like one, but adds otherwise. */
function checkGiven(name: string, value: unknown, types: ReadonlyMap<string, string>): void {
  const type = types.get(name);
  if (type === undefined) throw wrong(`there is no ${name}; there are ${[...types.keys()].join(", ")}`);
  if (typeof value !== type) throw wrong(`${name} is a ${type}`);
}

const wrong = (relation: string): ConfigError =>
  new ConfigError("election-settings", `Election settings: ${relation}.`, { details: { relation } });

function relations(s: ElectionSettings): ReadonlyArray<readonly [string, boolean]> {
  const early = s.breakAfterMs > 0;
  const positive = [
    s.marginMs,
    s.renewAgainMs,
    s.requestCapMs,
    s.heartbeatEveryMs,
    s.heartbeatCapMs,
    s.pollEveryMs,
    s.breakJitterMs,
    s.drainCapMs,
  ];
  const timeout = Number.isFinite(s.functionTimeoutMs);
  return [
    [
      "lease length is a whole number of seconds from 15 to 60",
      Number.isInteger(s.leaseDurationS) && s.leaseDurationS >= 15 && s.leaseDurationS <= 60,
    ],
    ["every interval and cap is above zero", positive.every((ms) => Number.isFinite(ms) && ms > 0)],
    ["request cap < renew interval", s.requestCapMs < s.renewEveryMs],
    ["renew interval < stop-work deadline", s.renewEveryMs < stopWorkMs(s)],
    ["stop-work deadline < lease length", stopWorkMs(s) < s.leaseDurationS * 1_000],
    [
      "break threshold is 0 or a positive whole number",
      Number.isInteger(s.breakAfterMs) && s.breakAfterMs >= 0,
    ],
    [
      "break threshold >= 3 heartbeats + 1 s",
      !early || s.breakAfterMs >= 3 * s.heartbeatEveryMs + ageResolutionMs,
    ],
    [
      "heartbeat interval + 2 x heartbeat cap < break threshold - 1 s",
      !early || s.heartbeatEveryMs + 2 * s.heartbeatCapMs < s.breakAfterMs - ageResolutionMs,
    ],
    ["heartbeat cap < heartbeat interval", s.heartbeatCapMs < s.heartbeatEveryMs],
    ["break threshold < lease length", s.breakAfterMs < s.leaseDurationS * 1_000],
    ["stall limit is 0 or above zero", s.stallAfterMs >= 0],
    ["tries is a whole number above zero", Number.isInteger(s.tries) && s.tries > 0],
    ["budget > 0", s.budgetMs > 0],
    [
      "budget < function timeout",
      !timeout || !Number.isFinite(s.budgetMs) || s.budgetMs < s.functionTimeoutMs,
    ],
    [
      "drain cap + 2 x request cap < function margin < function timeout",
      !timeout ||
        (s.drainCapMs + 2 * s.requestCapMs < s.functionMarginMs && s.functionMarginMs < s.functionTimeoutMs),
    ],
    [
      `least term <= budget: leastTermMs, by default a lease length, is ${s.leastTermMs} and budgetMs ${s.budgetMs}`,
      s.leastTermMs <= s.budgetMs,
    ],
    [
      "least term <= function timeout - function margin",
      s.leastTermMs <= s.functionTimeoutMs - s.functionMarginMs,
    ],
  ];
}

/** A leader without a heartbeat for so long may be deposed. Safe here: every effect of a leader is a conditional write. */
const earlyTakeover: Readonly<Record<Settings["LEASEFOLD_EARLY_TAKEOVER"], Partial<ElectionSettings>>> = {
  true: { breakAfterMs: 4_000 },
  fast: fastTakeover,
  false: {},
};
/** A leader that finishes no loop for so long is ended. */
const stallAfterMs = 60_000;
/** Kept free before the host kills the invocation. */
export const functionMarginMs = 12_000;

/** The timings of an election that a lease without heartbeats needs too; defaults and rules are the same. */
export type LeaseTimings = Pick<ElectionSettings, (typeof leaseTimings)[number]>;

const leaseTimings = [
  ...(["leaseDurationS", "marginMs", "renewEveryMs", "renewAgainMs"] as const),
  ...(["requestCapMs", "pollEveryMs", "tries"] as const),
] as const satisfies readonly (keyof ElectionSettings)[];

export interface LeasesSettings extends ElectionSettings {
  /** Renewals in flight at a time, and as many other calls beside them. Default 32. */
  readonly callsAtOnce: number;
  /** Each read or write of contents is cut off after this: bodies take longer than lease calls. Default 10,000. */
  readonly contentCapMs: number;
}

export function leasesSettings(
  chosen: Partial<LeaseTimings & Pick<LeasesSettings, "callsAtOnce" | "contentCapMs">>,
): LeasesSettings {
  const { callsAtOnce = 32, contentCapMs = 10_000, ...timings } = chosen;
  const known: readonly string[] = [...leaseTimings, "callsAtOnce", "contentCapMs"];
  const other = Object.keys(chosen).find((name) => !known.includes(name));
  if (other !== undefined) {
    const message = `Leases: there is no ${other}; there are ${known.join(", ")}.`;
    throw new ConfigError("leases-settings", message);
  }
  const settings = { ...electionSettings(timings), callsAtOnce, contentCapMs };
  if (!Number.isInteger(callsAtOnce) || callsAtOnce < 1) {
    throw new ConfigError("leases-settings", "Leases: callsAtOnce is a whole number above zero.");
  }
  if (typeof contentCapMs !== "number" || !(contentCapMs > 0))
    throw new ConfigError("leases-settings", "Leases: contentCapMs is above zero.");
  return settings;
}

/** The election's settings in the app. The budget is the configured one, or what `functionTimeout` leaves if less. */
export function electionFrom(settings: Settings, host: HostSettings): ElectionSettings {
  const leaseDurationS = settings.LEASEFOLD_LEASE_S;
  const leastS = leaseDurationS + functionMarginMs / 1_000;
  if (host.functionTimeoutMs < leastS * 1_000) {
    const given = `functionTimeout of host.json is ${host.functionTimeoutMs / 1_000} s`;
    const why = `a lease of ${leaseDurationS} s (LEASEFOLD_LEASE_S) and ${functionMarginMs / 1_000} s to hand over fit into`;
    throw new ConfigError("bad-host-setting", `${given}: at least ${leastS} s, which ${why}`);
  }
  const budgetMs = Math.min(settings.LEASEFOLD_BUDGET_S * 1_000, host.functionTimeoutMs - functionMarginMs);
  return electionSettings({
    leaseDurationS,
    budgetMs,
    functionTimeoutMs: host.functionTimeoutMs,
    stallAfterMs,
    ...earlyTakeover[settings.LEASEFOLD_EARLY_TAKEOVER],
    watching: settings.LEASEFOLD_WATCH,
  });
}
