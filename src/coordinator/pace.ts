import { limits } from "../model/limits.ts";
import { packsOf } from "../model/packs.ts";
import type { State } from "../model/state.ts";
import type { Draft, Memory } from "./draft.ts";

/** How fast a run goes: rate, mean, p95, and from them the window of packs sent and not finished. */

/** Time over which the rate is smoothed. */
const smoothMs = 10_000;
/** Two samples closer than this say nothing about a rate. */
const sampleMs = 500;

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** The smallest value that 95 % of the values do not exceed. */
export function p95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * 0.95) - 1, 0)] ?? 0;
}

/** Updates the smoothed rate from the packs done since the last sample. */
export function trackRate(draft: Draft, memory: Memory, localMs: number): void {
  const { state } = draft;
  const before = memory.rateSample;
  if (before === undefined) {
    memory.rateSample = { atMs: localMs, done: state.packsDone };
    return;
  }
  const elapsedMs = localMs - before.atMs;
  if (elapsedMs < sampleMs) return;
  const now = ((state.packsDone - before.done) * 1000) / elapsedMs;
  const weight = state.rate === 0 ? 1 : 1 - Math.exp(-elapsedMs / smoothMs);
  state.rate += weight * (now - state.rate);
  memory.rateSample = { atMs: localMs, done: state.packsDone };
}

/** Packs that are computed at the same moment, by Little's law. */
export const packsAtOnce = (state: State): number =>
  Math.max(1, Math.ceil((state.rate * mean(state.durationsMs)) / 1000));

/**
 * Packs that may be sent and not finished: two per worker and five seconds of work, 64 until the first outcomes,
 * never under 8, at most twice the last window; the cap always wins.
 */
export function windowOf(state: State, memory: Memory): number {
  const outcomes = state.packsDone + state.packsFailed;
  const wanted =
    outcomes < limits.outcomesForRate
      ? limits.windowFirst
      : Math.ceil((state.rate * (2 * mean(state.durationsMs) + limits.windowAheadMs)) / 1000);
  const grown = memory.window === 0 ? wanted : Math.min(wanted, memory.window * 2);
  memory.window = Math.max(grown, limits.windowMin);
  return Math.min(memory.window, state.cap);
}

/** No phase keeps the loop fast for longer: a finish may take minutes. */
const fastForMs = 10_000;
/** A run that ends so soon is looked at often. */
const endingMs = 2_000;

/**
 * The leader's pause until its next look: short while a run is planned, begun or finished, and for its last packs;
 * else the long one, which is what leading costs. The window reaches further than a long pause.
 */
export function pauseBetween(
  runs: readonly { readonly working: State; readonly memory: Memory }[],
  settings: { readonly loopMs: number; readonly fastLoopMs: number },
  localMs: number,
): number {
  const fast = runs.some(({ working, memory }) =>
    localMs - memory.phaseSinceMs < fastForMs ? !isInFullSwing(working) : endsSoon(working),
  );
  return fast ? settings.fastLoopMs : settings.loopMs;
}

const isInFullSwing = (state: State): boolean =>
  state.phase === "computing" &&
  state.packsDone + state.packsFailed >= limits.outcomesForRate &&
  !endsSoon(state);

function endsSoon(state: State): boolean {
  if (state.phase !== "computing" || state.layout === undefined) return false;
  const left = packsOf(state.layout) - state.packsDone - state.packsFailed;
  return state.rate > 0 && (left * 1_000) / state.rate < endingMs;
}
