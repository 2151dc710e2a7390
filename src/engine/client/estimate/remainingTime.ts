import * as z from "zod";
import { stopOf } from "../../model/outcomes.ts";
import { packsOf } from "../../model/packs.ts";
import { p95 } from "../../model/quantile.ts";
import { isHeld, type ProgressMark, type State } from "../../model/state.ts";

export const remainingTimeSchema = z
  .object({ expectedS: z.number(), lowS: z.number(), highS: z.number() })
  .describe(
    "Seconds until the last pack, or the last of the prefix in `stop`, has an outcome: the estimate, and a band that holds the truth in four of five cases. Absent without a basis.",
  );
export type RemainingTime = z.infer<typeof remainingTimeSchema>;

/** The middle 80 % of a normal distribution end this many standard deviations from its mean. */
const deviations = 1.28;
/** Minimum basis of an estimate; marks carry whole seconds. */
const outcomesMin = 5;
const spanMsMin = 3_000;
/** Age of marks up to the next poll of the leader. */
const pollMs = 4_000;
/** Durations are whole ms, so 0 means less than half of one. */
const durationMsMin = 0.5;
/** Latest share of the ended packs, from which the current pack time and concurrency are measured. */
const latestShare = 0.1;
/** Standard errors: of an extrapolated trend, as a share of it; and of a run in which nothing has changed yet. */
const trendError = 0.65;
const leastError = 0.1;

/** Three times as long as nearly all packs take, and at least two polls, which show what has ended. */
const stillAfterMs = (durationsMs: readonly number[]): number => Math.max(3 * p95(durationsMs), 2 * pollMs);

/** Whether no pack has ended for so long that neither the rate nor what follows from it is true any more. */
export function standsStill({ progress, durationsMs, phase, waits }: State, nowMs: number): boolean {
  const last = progress.marks.at(-1);
  if (phase !== "computing" || waits !== undefined || last === undefined) return false;
  return nowMs - last.atMs > stillAfterMs(durationsMs);
}

/**
 * Estimates the remaining time of a computing run: queued packs × pack time ÷ concurrency, and then the last packs in
 * flight. A run that may stop is asked about the next prefix before. Undefined without a basis: paused, waiting for code, too
 * few outcomes, or none for long.
 *
 * Not promised: to foresee a sudden change, or the few longest packs of a run that computes nearly all at once.
 */
export function remainingTime(state: State, nowMs: number): RemainingTime | undefined {
  const { marks } = state.progress;
  const [first, last] = [marks[0], marks.at(-1)];
  const waits = isHeld(state) || state.otherCode !== undefined || standsStill(state, nowMs);
  if (state.phase !== "computing" || waits || !state.layout || !first || !last) return undefined;
  const prefix = stopOf(state)?.next?.packs;
  const left = prefix ? prefix.total - prefix.done - prefix.failed : packsOf(state.layout) - last.ended;
  const total = between(first, last);
  const known = total.packs >= outcomesMin && total.spanMs >= spanMsMin && state.durationsMs.length > 0;
  if (left <= 0 || !known) return undefined;

  const wanted = Math.max(latestShare * total.packs, 2 * total.busy);
  const isEnough = (mark: ProgressMark) =>
    last.ended - mark.ended >= wanted && last.atMs - mark.atMs >= spanMsMin;
  const start = marks.findLast(isEnough) ?? first;
  const latest = between(start, last);
  const third = (number: number) =>
    marks.findLast((mark) => last.ended - mark.ended >= (number * total.packs) / 3) ?? first;
  const [newest, previous] = [between(third(1), last), between(third(2), third(1))];
  const distance = (latest.packs + left) / (newest.packs + previous.packs);
  const trend = bounded(distance * logRatio(newest.packMs, previous.packMs));
  const workersChange = logRatio(latest.busy, between(first, start).busy);
  const changes = marks.slice(1).map((mark, index) => {
    const part = between(marks[index] ?? first, mark);
    return (part.packs / total.packs) * logRatio(part.packMs, latest.packMs) ** 2;
  });
  const error = Math.hypot(trendError * trend, workersChange, Math.sqrt(sum(changes)), leastError);

  const meanMs = sum(state.durationsMs) / state.durationsMs.length;
  const scale = latest.packMs / Math.max(meanMs, durationMsMin);
  const durationsMs = state.durationsMs.map((ms) => ms * scale).sort((a, b) => a - b);
  // Half of the trend is expected: it may continue to the last pack or end now.
  const queuedPackMs = latest.packMs * Math.exp(trend / 2);
  const ahead = { left, packMs: latest.packMs, queuedPackMs, error, durationsMs };
  // At the beginning of a run the concurrency lacks the packs in flight; it may be as high as `busyMax`.
  const settledMs = start === first ? latest.spanMs - latest.packMs : latest.spanMs;
  const busyMax = settledMs > 0 ? (latest.busy * latest.spanMs) / settledMs : Number.POSITIVE_INFINITY;
  const slow = bandOf(ahead, latest.busy);
  const fast = bandOf(ahead, Math.min(busyMax, left + total.packs));
  const highMs = Math.max(slow.highMs, fast.highMs);

  // What waits for its next attempt cannot end before.
  const waitsMs = state.waits === undefined ? 0 : Math.max(0, state.waits.lastMs - nowMs) + meanMs;
  const agoMs = state.waits === undefined ? Math.max(0, nowMs - last.atMs) : 0;
  if (agoMs >= highMs) return undefined;
  // Queued packs advance only when a pack ends, so at most one pack or one poll of elapsed time counts.
  const workedMs = left > latest.busy ? Math.min(agoMs, Math.max(latest.packMs, pollMs)) : agoMs;
  const inS = (ms: number) => Math.max(waitsMs, ms - workedMs) / 1_000;
  return {
    expectedS: inS(Math.sqrt(slow.middleMs * fast.middleMs)),
    lowS: inS(Math.min(slow.lowMs, fast.lowMs)),
    highS: inS(highMs),
  };
}

interface Ahead {
  readonly left: number;
  readonly packMs: number;
  readonly queuedPackMs: number;
  readonly error: number;
  /** Shortest first. */
  readonly durationsMs: readonly number[];
}

/** The band for a concurrency. Independent errors are added as squares. */
function bandOf({ left, packMs, queuedPackMs, error, durationsMs }: Ahead, busy: number) {
  const atOnce = Math.max(busy, 1);
  const queuedMs = (Math.max(left - atOnce, 0) * queuedPackMs) / busy;
  const factor = Math.exp(deviations * error);
  // The longest pack in flight stays below `longestMs` with the given probability. If the packs began at random
  // moments, only `restMs` of it remains; if they began together, it may all remain.
  const inFlight = Math.max(1, Math.min(left, atOnce));
  const longestMs = (chance: number) =>
    durationsMs[Math.floor(chance ** (1 / inFlight) * (durationsMs.length - 1))] ?? packMs;
  const restMs = (chance: number) => (inFlight / atOnce) * chance ** (1 / inFlight) * longestMs(chance);
  const lastMs = (restMs(0.5) + longestMs(0.5)) / 2;
  // The last round is anywhere between empty and full: a uniform distribution over one pack time.
  const roundMs = (deviations * packMs * (1 - 1 / atOnce)) / Math.sqrt(12);
  const middleMs = queuedMs + lastMs;
  return {
    middleMs,
    lowMs: middleMs - Math.hypot(queuedMs * (1 - 1 / factor), lastMs - restMs(0.1), roundMs),
    highMs: middleMs + Math.hypot(queuedMs * (factor - 1), longestMs(0.9) - lastMs, roundMs),
  };
}

/** What happened between two marks: the compute time of a pack, and how many were computed at once. */
function between(from: ProgressMark, to: ProgressMark) {
  const packs = to.ended - from.ended;
  const spanMs = to.atMs - from.atMs;
  const workMs = Math.max(to.computeMs - from.computeMs, packs * durationMsMin);
  return { packs, spanMs, packMs: workMs / packs, busy: workMs / spanMs };
}

/** A change as a logarithm, limited to half or double. An empty part counts as no change. */
const logRatio = (a: number, b: number): number => (a > 0 && b > 0 ? bounded(Math.log(a / b)) : 0);
const bounded = (logarithm: number): number => Math.min(Math.max(logarithm, -Math.LN2), Math.LN2);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
