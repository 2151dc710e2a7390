import { isHeld, type Sight, whoLed } from "./record/leaderView.ts";
import { type CameBy, type LeaderRecord, lastTermsMax } from "./record/record.ts";
import { ageResolutionMs, type ElectionSettings } from "./settings.ts";

/** The election's decisions: what was seen, in; what to do, out. No clock, no storage, no randomness in here. */

export type LookDecision =
  | { readonly act: "acquire"; readonly cameBy: CameBy }
  | { readonly act: "break"; readonly ifMatch: string; readonly from: string; readonly silentMs: number }
  | { readonly act: "lookAgain" }
  | { readonly act: "follow" }
  | { readonly act: "refuse"; readonly code: "record-newer" | "record-unreadable"; readonly reason: string };

/** How long this contender may wait, and what it has seen so far. */
export interface Waiting {
  /** Of the first sight of this race; `undefined` as long as there was no record. */
  readonly firstBeat: string | undefined;
  /** 0: decide by this look alone. */
  readonly waitLeftMs: number;
  /** Wait even while a leader beats. */
  readonly watching: boolean;
}

export function decideAfterLook(sight: Sight, waiting: Waiting, settings: ElectionSettings): LookDecision {
  const { decoded } = sight;
  if (decoded.kind === "newer") return { act: "refuse", code: "record-newer", reason: decoded.reason };
  if (decoded.kind === "unreadable")
    return { act: "refuse", code: "record-unreadable", reason: decoded.reason };
  const record = decoded.kind === "record" ? decoded.record : undefined;
  if (!isHeld(sight)) return { act: "acquire", cameBy: cameByOf(sight, record, settings) };
  if (record !== undefined && mayBreak(record, sight.ageMs, settings)) {
    return { act: "break", ifMatch: sight.etag, from: record.holder, silentMs: sight.ageMs };
  }
  if (waiting.waitLeftMs <= 0) return { act: "follow" };
  if (!waiting.watching && record?.state === "leading" && record.beat !== waiting.firstBeat) {
    return { act: "follow" };
  }
  return { act: "lookAgain" };
}

/**
 * Early takeover. The threshold is the one the leader published with its term, never the challenger's own,
 * because the leader counts its stop-work deadline by it. A record that is only `looking` is never broken.
 */
function mayBreak(record: LeaderRecord, ageMs: number, settings: ElectionSettings): boolean {
  if (record.state !== "leading" || record.breakAfterMs === 0) return false;
  return ageMs >= Math.max(record.breakAfterMs, 3 * settings.beatEveryMs + ageResolutionMs);
}

function cameByOf(sight: Sight, record: LeaderRecord | undefined, settings: ElectionSettings): CameBy {
  if (sight.leaseState === "expired") return "expired";
  if (sight.leaseState === "broken") return "broken";
  const byLeader = record?.state === "ended" && record.term > 0 && record.led === undefined;
  const justEnded = byLeader && sight.ageMs <= settings.leaseDurationS * 1_000;
  return justEnded ? "handed-over" : "free";
}

/** A write whose reply is unknown, seen again by a read: `mine` by its own mark, `unwritten` by the old ETag. */
export function decideAfterReadBack(
  seen: Sight | undefined,
  ifMatch: string,
  isMine: (record: LeaderRecord) => boolean,
): "mine" | "unwritten" | "lost" {
  if (seen === undefined) return "lost";
  if (seen.decoded.kind === "record" && isMine(seen.decoded.record)) return "mine";
  return seen.etag === ifMatch ? "unwritten" : "lost";
}

/** When leadership of this invocation has to end, on its monotonic clock. */
export const budgetEndsAtMs = (startedAtMonotonicMs: number, settings: ElectionSettings): number =>
  startedAtMonotonicMs + Math.min(settings.budgetMs, settings.functionTimeoutMs - settings.functionMarginMs);

/** `undefined`: there is time enough to lead. */
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

/** How long to wait before the next renewal, from a call that took `tookMs`. */
export const nextRenewalMs = (renewed: boolean, tookMs: number, settings: ElectionSettings): number =>
  renewed ? Math.max(0, settings.renewEveryMs - tookMs) : settings.renewAgainMs;

interface Me {
  readonly holder: string;
  readonly region?: string | undefined;
  readonly about?: Readonly<Record<string, string>> | undefined;
}

/** The first record under a fresh lease: the last term and who led it stay as they were, the beat is fresh. */
export const lookingRecord = (
  last: LeaderRecord | undefined,
  me: Me,
  by: { readonly cameBy: CameBy; readonly atMs: number; readonly ageMs: number; readonly beat: string },
): LeaderRecord => ({
  term: last?.term ?? 0,
  termid: last?.termid ?? "",
  state: "looking",
  holder: me.holder,
  region: me.region,
  sinceMs: by.atMs,
  beat: by.beat,
  breakAfterMs: 0,
  cameBy: by.cameBy,
  notes: {},
  about: me.about,
  lastTerms: last?.lastTerms ?? [],
  led: last && whoLed(last, by.atMs - by.ageMs),
});

/** `aboveTerm`: a term that state elsewhere has seen, where the record was lost or rolled back. */
export function leadingRecord(
  looking: LeaderRecord,
  claim: { readonly termid: string; readonly beat: string; readonly aboveTerm: number },
  settings: ElectionSettings,
): LeaderRecord {
  const term = Math.max(looking.term, claim.aboveTerm) + 1;
  const { holder, sinceMs } = looking;
  return {
    ...looking,
    term,
    termid: claim.termid,
    state: "leading",
    beat: claim.beat,
    breakAfterMs: settings.breakAfterMs,
    lastTerms: [...looking.lastTerms, { term, termid: claim.termid, holder, sinceMs }].slice(-lastTermsMax),
    led: undefined,
  };
}
