import { limits } from "../../model/limits.ts";
import { packsOf } from "../../model/packs.ts";
import { mean } from "../../model/quantile.ts";
import { isHeld, type State } from "../../model/state.ts";
import type { Known, RunNotes } from "../notes.ts";

/** How fast a run goes: its rate, the time of its packs, and from them the pace of the leader. */

/** Time over which the rate is smoothed, but at least so many packs' time: those that began together end together. */
const smoothMs = 10_000;
const smoothPacks = 3;
/** Two samples closer than this say nothing about a rate. */
const sampleMs = 500;

/** Updates the smoothed rate from the packs done since the last sample. */
export function trackRate(
  { state, notes, gained }: { readonly state: State; readonly notes: RunNotes; readonly gained: number },
  localMs: number,
): void {
  // A pause says nothing about the workers.
  const sample = state.paused ? undefined : notes.rateSample;
  if (sample === undefined) {
    notes.rateSample = { atMs: localMs, gained: 0 };
    return;
  }
  const all = sample.gained + gained;
  const elapsedMs = localMs - sample.atMs;
  notes.rateSample = elapsedMs < sampleMs ? { ...sample, gained: all } : { atMs: localMs, gained: 0 };
  if (elapsedMs < sampleMs) return;
  const now = (all * 1_000) / elapsedMs;
  // In the beginning this is the plain mean since the run was planned.
  const overMs = Math.max(smoothMs, smoothPacks * mean(state.durationsMs));
  const weight = elapsedMs / Math.max(elapsedMs, Math.min(overMs, localMs - notes.rateSinceMs));
  state.rate += weight * (now - state.rate);
}

/** For how long a pack takes a worker, as planned or as seen. */
export const expectedPackMs = ({ durationsMs, layout }: State): number =>
  Math.max(durationsMs.length > 0 ? mean(durationsMs) : (layout?.packMs ?? 0), limits.packCallsMs);

/** Packs that workers have at the same moment, by Little's law: of short ones, or of many runs, a part of one. */
export const packsAtOnce = (state: State): number => (state.rate * expectedPackMs(state)) / 1_000;

/** No phase keeps the loop fast for longer: a finish may take minutes. */
const fastForMs = 10_000;
/** The pause in a phase that waits for one task is at most this part of the time that it has waited. */
const taskShare = 8;
/** A run that ends so soon is polled often. */
const endingMs = 1_000;

/**
 * In full swing no pause is shorter than this part of the long one, or than so many packs take: a small cap must not
 * make polling expensive, and a fast run must not wait.
 */
const shortestShare = 4;
const shortestPacks = 200;
/** Once all packs of a young run are sent, so many polls are made in the time that is left of it at the present rate. */
const pollsOfRest = 8;

/**
 * The leader's pause until its next poll: short while a run is planned, begun or finished, and for its last packs;
 * else the long one, which is what leading costs, or less where the cap would let the workers run dry before.
 */
export function pauseBetween(
  runs: readonly Pick<Known, "working" | "notes">[],
  settings: { readonly loopMs: number; readonly fastLoopMs: number },
  localMs: number,
): number {
  const { loopMs, fastLoopMs } = settings;
  const pauses = runs.map(({ working, notes }) => {
    if (isIdle(notes, localMs)) return Math.max(fastLoopMs, (notes.idleUntilLocalMs ?? 0) - localMs);
    const waitedMs = localMs - notes.phaseSinceMs;
    const young = waitedMs < fastForMs;
    if (young && working.phase !== "computing")
      return Math.min(loopMs, Math.max(fastLoopMs, waitedMs / taskShare));
    if (young && !notes.starved && isLearning(working))
      return Math.max(fastLoopMs, Math.min(loopMs, learningPauseMs(working)));
    const fast = notes.starved || (young ? !isInFullSwing(working) : endsSoon(working));
    if (fast) return fastLoopMs;
    // The first outcomes say little about how fast the others come.
    const shortest = Math.min(loopMs / shortestShare, (shortestPacks * 1_000) / working.rate);
    const dryMs = runsDryMs(working, notes);
    if (!young) return Math.max(fastLoopMs, shortest, Math.min(dryMs, leftMs(working)) / 2);
    return Math.max(
      loopMs / shortestShare,
      dryMs < Number.POSITIVE_INFINITY ? 0 : leftMs(working) / pollsOfRest,
    );
  });
  const losses = runs.map(({ notes }) => Math.max(notes.lostInMs, loopMs / shortestShare));
  return Math.min(loopMs, ...pauses, ...losses);
}

/** All work waits for its next attempt. */
export const isIdle = (
  { idleUntilLocalMs = 0 }: Pick<RunNotes, "idleUntilLocalMs">,
  localMs: number,
): boolean => localMs < idleUntilLocalMs;

/** Packs are computed, too few have ended to know the rate, and those that have are not most of a small run. */
function isLearning({ phase, layout, durationsMs, inFlight, packsDone, packsFailed }: State): boolean {
  if (phase !== "computing" || layout === undefined || inFlight === 0) return false;
  const ended = packsDone + packsFailed;
  if (ended === 0) return true;
  return durationsMs.length < limits.outcomesForRate && packsOf(layout) - ended > limits.outcomesForRate;
}

/**
 * Nothing can end before a pack's time is over, as planned or as seen. The first outcome tells most. Where no pack is left to
 * send, only the end is waited for.
 */
function learningPauseMs(state: State): number {
  const { layout, durationsMs, cursor, rate } = state;
  const usualMs = durationsMs.length === 0 ? (layout?.packMs ?? 0) : mean(durationsMs);
  const endsInMs =
    layout === undefined || cursor < packsOf(layout) || rate === 0 ? 0 : leftMs(state) / pollsOfRest;
  return Math.max(usualMs / 4, Math.min(usualMs, endsInMs));
}

/** When the packs that wait in the queue will all be begun, at the present rate; never where it has none to send. */
function runsDryMs(state: State, { drained, credit }: RunNotes): number {
  const { layout, rate, inFlight } = state;
  const sending = state.phase === "computing" && !isHeld(state) && layout !== undefined;
  if (!sending || rate === 0 || state.cursor >= packsOf(layout)) return Number.POSITIVE_INFINITY;
  // Where they are dry already, or it queues nothing, a pack that ends is replaced within a tenth of its time.
  if (drained || credit !== undefined) return mean(state.durationsMs) / 5;
  return (Math.max(0, inFlight - packsAtOnce(state)) * 1_000) / rate;
}

/** Enough is done to know how the run goes, and enough is left to poll seldom. */
export const isInFullSwing = (state: State): boolean =>
  state.phase === "computing" && state.durationsMs.length >= limits.outcomesForRate && !endsSoon(state);

const endsSoon = (state: State): boolean => state.phase === "computing" && leftMs(state) < endingMs;

/** Time until the last pack has ended, at the present rate. */
function leftMs({ layout, packsDone, packsFailed, rate }: State): number {
  if (layout === undefined || rate === 0) return Number.POSITIVE_INFINITY;
  return ((packsOf(layout) - packsDone - packsFailed) * 1_000) / rate;
}
