import { limits } from "../../model/limits.ts";
import { packsOf } from "../../model/packs.ts";
import { type Priority, weightOf } from "../../model/priority.ts";
import { mean } from "../../model/quantile.ts";
import type { State } from "../../model/state.ts";
import { packsAllowed, type Share } from "./draft.ts";
import { expectedPackMs, packsAtOnce } from "./pace.ts";

/** A run that takes part: how it goes, and how much it counts. */
export interface Sharing {
  readonly working: State;
  readonly spec: { readonly priority?: Priority | undefined };
}

/** What is known of the others and of the workers. */
interface Beside {
  /** Runs whose states this leader has not read. */
  readonly unread?: number;
  /** How long ago the others were polled, on average: many take turns. */
  readonly polledMs?: number;
  /** How much of a run its workers said last that they compute, by uid. */
  readonly told?: ReadonlyMap<string, number> | undefined;
}

/**
 * What each run has of the workers: what all runs together compute at once, shared by weight. What one cannot use (its cap,
 * few packs left, or a window full of packs that wait for their next attempt) goes to the others. A run that is paused, or
 * whose code no instance has, takes none of them; one that begins in this loop has what it would have beside those that
 * compute.
 *
 * All packs wait in one queue, so a run that came later would wait behind all that was queued before. While more is queued
 * than shares allow, it overtakes: it queues nothing, and has its share in the urgent queue. So does a run so small that its share
 * computes it sooner than the queue is passed.
 */
export function shareOut(
  runs: readonly Sharing[],
  { unread = 0, polledMs = 0, told }: Beside = {},
): (run: string) => Share {
  const begun = runs.filter(
    ({ working: { phase, paused, otherCode } }) =>
      (phase === "planning" || phase === "computing") && !paused && otherCode === undefined,
  );
  const count = Math.max(1, begun.length + unread);
  const computing = begun
    .filter(({ working }) => working.phase === "computing")
    .map(({ working, spec }) => ({
      ...{ state: working, weight: weightOf(spec.priority), demand: demandOf(working) },
      atOnce: atOnceOf(working, told),
      share: 0,
    }));
  // While nothing tells, each that has sent something has one worker.
  const total =
    computing.reduce((sum, { atOnce }) => sum + atOnce, 0) ||
    computing.filter(({ state }) => state.inFlight > 0).length;
  const beside = begun.length > 1;
  const nothing: Share = { runs: count, beside, packsAtOnce: undefined, waitMs: undefined, overtakes: false };
  if (computing.length === 0 || total === 0) return () => nothing;
  // In one queue all wait for the same time. A turn is twice as long as the average of what has passed of it.
  const waitMs =
    mean(computing.map(({ state }) => expectedPackMs(state))) +
    Math.max(limits.windowAheadMs, 2 * 2 * polledMs);
  let left = total;
  let weights = computing.reduce((sum, { weight }) => sum + weight, 0);
  const weightsOfAll = weights;
  // Where caps or their ends hold all back, workers may be idle.
  const busy = computing.some(({ demand, atOnce }) => demand > 2 * atOnce);
  for (const one of computing.sort((a, b) => a.demand / a.weight - b.demand / b.weight)) {
    one.share = Math.min(one.demand, (left * one.weight) / weights);
    left -= one.share;
    weights -= one.weight;
  }
  const among: Share = { ...nothing, waitMs };
  const tooMuchMs = computing.reduce((sum, { state, share }) => {
    const queued = state.inFlight - (state.waits?.works ?? 0) - windowAmong(state, among, share);
    return sum + (Math.max(0, queued) * expectedPackMs(state)) / total;
  }, 0);
  const busiest = computing.reduce((a, b) => (b.atOnce > a.atOnce ? b : a));
  const most = busiest.atOnce > 0 ? busiest.state.run : undefined;
  return (run) => {
    const one = computing.find(({ state }) => state.run === run);
    if (one === undefined) {
      const mine = runs.find(({ working }) => working.run === run);
      if (mine === undefined || !busy) return among;
      const weight = weightOf(mine.spec.priority);
      const packsAtOnce = (total * weight) / (weightsOfAll + weight);
      return { ...among, packsAtOnce, overtakes: true, behind: most };
    }
    if (computing.length === 1) return among;
    const { state, share, demand, atOnce } = one;
    const isSmall = demand * expectedPackMs(state) <= share * waitMs;
    const overtakes = tooMuchMs > limits.tooMuchMs || isSmall;
    const behind = run !== most && atOnce < share / 10 ? most : undefined;
    return { ...among, packsAtOnce: share, overtakes, behind };
  };
}

/** What keeps a share at work for as long as its packs wait behind those of others, and a few more for workers to come. */
export function windowAmong(state: State, { waitMs = 0, runs }: Share, share: number): number {
  const ahead = (share * waitMs) / expectedPackMs(state);
  return Math.ceil(share + Math.max(ahead, limits.windowMin / runs));
}

/**
 * Packs of a run that are computed at the same moment. Workers tell of what lasts; of short packs the rate tells, once some have
 * ended.
 */
const atOnceOf = (state: State, told: Beside["told"]): number =>
  state.durationsMs.length > 0 && expectedPackMs(state) < limits.heartbeatAfterMsMax
    ? packsAtOnce(state)
    : (told?.get(state.uid) ?? 0);

function demandOf(state: State): number {
  const { layout, packsDone, packsFailed, inFlight, waits } = state;
  const left = layout === undefined ? 0 : packsOf(layout) - packsDone - packsFailed;
  const awake = waits === undefined ? Number.POSITIVE_INFINITY : Math.max(0, inFlight - waits.works);
  return Math.min(packsAllowed(state), left, awake);
}
