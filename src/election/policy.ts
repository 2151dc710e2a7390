import { isHeld, type Poll } from "./record/leaderView.ts";
import { type CameBy, type LeaderRecord, lastTermsMax } from "./record/record.ts";
import { ageResolutionMs, type ElectionSettings } from "./settings.ts";

/** The election's decisions, as pure functions: no clock, no storage, no randomness in here. */

type PollDecision =
  | { readonly act: "acquire"; readonly cameBy: CameBy }
  | { readonly act: "break"; readonly ifMatch: string }
  | { readonly act: "pollAgain" }
  | { readonly act: "follow" }
  | { readonly act: "refuse"; readonly code: "record-newer" | "record-unreadable"; readonly reason: string };

/** How long this contender may still wait, and what it has seen so far. */
export interface WaitState {
  /** Of the first poll of this race; `undefined` as long as there was no record. */
  readonly firstHeartbeat: string | undefined;
  /** 0: decide by this poll alone. */
  readonly remainingMs: number;
  /** Wait even while a leader writes heartbeats. */
  readonly watching: boolean;
  /** For at least so long nobody wrote the record, by the polls of this race alone. */
  readonly unchangedMs: number;
}

export function decideAfterPoll(poll: Poll, wait: WaitState, settings: ElectionSettings): PollDecision {
  const { decoded } = poll;
  if (decoded.kind === "newer" || decoded.kind === "unreadable") {
    return { act: "refuse", code: `record-${decoded.kind}`, reason: decoded.reason };
  }
  const record = decoded.kind === "record" ? decoded.record : undefined;
  if (!isHeld(poll)) return { act: "acquire", cameBy: cameByOf(poll, record, settings) };
  if (record !== undefined && mayBreak(record, poll.ageMs, wait.unchangedMs, settings)) {
    return { act: "break", ifMatch: poll.etag };
  }
  const heartbeatMoved = record?.state === "leading" && record.heartbeat !== wait.firstHeartbeat;
  if (wait.remainingMs <= 0 || (heartbeatMoved && !wait.watching)) return { act: "follow" };
  return { act: "pollAgain" };
}

/**
 * Early takeover. The threshold is the one the leader published with its term, never the challenger's own,
 * because the leader counts its stop-work deadline by it. A lease without a leading record is never broken.
 *
 * Storage's times are whole seconds, so an age by them must exceed the leader's deadline by their resolution. What the
 * challenger saw itself is exact: a record that stayed the same for as long as the deadline was last sent before it.
 */
function mayBreak(
  record: LeaderRecord,
  ageMs: number,
  unchangedMs: number,
  settings: ElectionSettings,
): boolean {
  if (record.state !== "leading" || record.breakAfterMs === 0) return false;
  const thresholdMs = Math.max(record.breakAfterMs, 3 * settings.heartbeatEveryMs + ageResolutionMs);
  return ageMs >= thresholdMs || unchangedMs >= thresholdMs - ageResolutionMs;
}

/** How a free lease would be acquired. */
function cameByOf(poll: Poll, record: LeaderRecord | undefined, settings: ElectionSettings): CameBy {
  if (poll.leaseState === "expired") return "expired";
  if (poll.leaseState === "broken") return "broken";
  const justEnded = record?.state === "ended" && poll.ageMs <= settings.leaseDurationS * 1_000;
  return justEnded && endedAsPlanned(record) ? "handed-over" : "free";
}

/** Its leader had time to write what it knew. */
const endedAsPlanned = ({ ending }: LeaderRecord): boolean =>
  ending === "done" || ending === "budget" || ending === "stopping";

/** A read after a claim whose reply is unknown: `mine` by the claim's own termid, `unwritten` by the old ETag. */
export function decideAfterReadBack(
  seen: Poll | undefined,
  ifMatch: string,
  termid: string,
): "mine" | "unwritten" | "lost" {
  if (seen === undefined) return "lost";
  if (seen.decoded.kind === "record" && seen.decoded.record.termid === termid) return "mine";
  return seen.etag === ifMatch ? "unwritten" : "lost";
}

/** When leadership of this invocation has to end, on its monotonic clock. */
export const budgetEndsAtMs = (startedAtMonotonicMs: number, settings: ElectionSettings): number =>
  startedAtMonotonicMs + Math.min(settings.budgetMs, settings.functionTimeoutMs - settings.functionMarginMs);

/** `undefined`: enough of the budget remains to lead. */
export function decideBudget(
  nowMs: number,
  startedAtMs: number,
  settings: ElectionSettings,
): "clock-backwards" | "too-little-budget" | undefined {
  if (nowMs < startedAtMs) return "clock-backwards";
  return budgetEndsAtMs(startedAtMs, settings) - nowMs < settings.leastTermMs
    ? "too-little-budget"
    : undefined;
}

/** How long to wait before the next renewal, after a call that took `tookMs`. */
export const nextRenewalMs = (renewed: boolean, tookMs: number, settings: ElectionSettings): number =>
  renewed ? Math.max(0, settings.renewEveryMs - tookMs) : settings.renewAgainMs;

/**
 * The record of a new term. `last` was last written at `writtenMs`, by storage's clock, as `sinceMs` is. `aboveTerm`: a term
 * that state elsewhere has seen, where the record was lost or rolled back.
 */
export function leadingRecord(
  last: LeaderRecord | undefined,
  { holder, region, about }: Pick<LeaderRecord, "holder" | "region" | "about">,
  claim: Pick<LeaderRecord, "termid" | "heartbeat" | "cameBy" | "sinceMs"> & {
    readonly writtenMs: number;
    readonly aboveTerm: number;
  },
  settings: ElectionSettings,
): LeaderRecord {
  const { termid, heartbeat, cameBy, sinceMs } = claim;
  const term = Math.max(last?.term ?? 0, claim.aboveTerm) + 1;
  const before = (last?.lastTerms ?? []).map((one) =>
    one.termid === last?.termid ? { ...one, untilMs: claim.writtenMs } : one,
  );
  return {
    term,
    termid,
    state: "leading",
    holder,
    region,
    sinceMs,
    heartbeat,
    breakAfterMs: settings.breakAfterMs,
    cameBy,
    notes: {},
    about,
    lastTerms: [...before, { term, termid, holder, sinceMs, cameBy }].slice(-lastTermsMax),
  };
}
