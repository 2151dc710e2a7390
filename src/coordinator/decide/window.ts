import { limits } from "../../model/limits.ts";
import { packsOf } from "../../model/packs.ts";
import type { State } from "../../model/state.ts";
import type { Memory } from "./draft.ts";
import { mean, packsAtOnce } from "./pace.ts";

/** How many packs of a run may be sent and not finished, and what that means where several runs compute at once. */

/** A run's part of what all workers compute at the same moment. */
export interface Share {
  /** Packs of this run that may be computed at once; undefined where nothing is to be shared. */
  readonly atOnce: number | undefined;
}

export const alone: Share = { atOnce: undefined };

/**
 * Shares what all runs together compute at once evenly among them; what one cannot use (its cap, or few packs left)
 * goes to the others. A run alone, and runs of which nothing is known yet, share nothing.
 */
export function shareOut(states: readonly State[]): readonly Share[] {
  const computing = states.filter((state) => state.phase === "computing" && !state.paused);
  const known = computing.filter((state) => state.durationsMs.length > 0);
  if (computing.length < 2 || known.length === 0) return states.map(() => alone);
  let total = known.reduce((sum, state) => sum + packsAtOnce(state), 0);
  const shares = new Map<State, number>();
  const byDemand = [...computing].sort((a, b) => demandOf(a) - demandOf(b));
  for (const [served, state] of byDemand.entries()) {
    const atOnce = Math.max(1, Math.min(demandOf(state), total / (byDemand.length - served)));
    shares.set(state, atOnce);
    total = Math.max(0, total - atOnce);
  }
  return states.map((state) => ({ atOnce: shares.get(state) }));
}

function demandOf({ layout, cap, packsDone, packsFailed }: State): number {
  const left = layout === undefined ? 0 : packsOf(layout) - packsDone - packsFailed;
  return Math.min(cap, left);
}

/**
 * Once a look: two packs per worker and five seconds of work at the rate of this run, or at its fair share of all; a
 * fixed number until the first outcomes, never under 8, at most twice the last window and at least nine tenths of it. Where the workers took more
 * than half of it since the last look, the rate says less than they can, and it is doubled. The cap is applied by
 * whoever sends.
 */
export function updateWindow(state: State, memory: Memory, share: Share): void {
  const meanMs = mean(state.durationsMs);
  const outcomes = state.durationsMs.length + state.packsFailed;
  const shared = share.atOnce !== undefined && meanMs > 0;
  const rate = shared ? ((share.atOnce ?? 0) * 1_000) / meanMs : state.rate;
  const wanted =
    outcomes < limits.outcomesForRate || rate === 0
      ? firstWindow(state)
      : Math.ceil((rate * (2 * meanMs + limits.windowAheadMs)) / 1_000);
  memory.starved = !shared && outcomes > 0 && state.inFlight <= memory.window / 2 && mayGrow(state, memory);
  const twice = memory.window === 0 ? wanted : memory.window * 2;
  // Alone it falls slowly, because the first outcomes make the rate look low.
  const least = shared ? 0 : Math.floor(memory.window * 0.9);
  memory.window = Math.max(memory.starved ? twice : Math.min(wanted, twice), least, limits.windowMin);
}

/** Packs in flight while nobody knows how fast they go: fewer where the plan says that they take long. */
const firstWindow = ({ layout }: State): number =>
  Math.min(limits.windowFirst, Math.ceil(limits.windowFirstMs / Math.max(layout?.packMs ?? 0, 1)));

/** Something is left to send, and the cap does not forbid it. */
const mayGrow = (state: State, { window }: Memory): boolean =>
  state.phase === "computing" &&
  state.layout !== undefined &&
  state.cursor < packsOf(state.layout) &&
  window < state.cap;

/**
 * The first packs of a run go to the urgent queue, so that it is under way at once. Behind other runs a young one
 * has as many packs there as its share of the workers, instead of waiting behind their seconds of work.
 */
export function isUrgent(state: State, share: Share, pack: number): boolean {
  if (pack < limits.urgentFirstPacks) return true;
  return share.atOnce !== undefined && pack < limits.urgentYoungPacks && state.inFlight < share.atOnce;
}
