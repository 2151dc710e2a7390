import { packsOf } from "../../model/packs.ts";
import { costWith } from "../../model/spent.ts";
import type { State } from "../../model/state.ts";
import type { DecideTime } from "../notes.ts";
import { expectedPackMs } from "./pace.ts";

/**
 * A bound on what a run costs (rule *run limits*): nothing is sent of which the estimate says that the run would then
 * have cost more, once it and all that is in flight have ended.
 *
 * Not promised: that packs in flight end within the estimate, which is by the mean of those before them. Folding is not held back.
 */
const affords = (state: State, inFlight: number): boolean =>
  state.maxCost === undefined || costWith(state, inFlight, expectedPackMs(state)).dollars <= state.maxCost;

/** How many packs may be in flight, of so many at most. */
export function packsAffordable(state: State, most: number): number {
  if (affords(state, most)) return most;
  let [fits, over] = [0, most];
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (affords(state, middle)) fits = middle;
    else over = middle;
  }
  return fits;
}

/** Of a draft. */
interface Judged {
  readonly state: State;
  readonly at: Pick<DecideTime, "nowMs">;
  unaffordable: boolean;
  noted: boolean;
}

/** Whether one more attempt at a pack may be made, whose earlier ones were spent. */
export function affordsResend(draft: Judged): boolean {
  const { state } = draft;
  if (affords(state, state.inFlight + 1)) return true;
  draft.unaffordable = true;
  return false;
}

/** Notes since when the run has work that it cannot afford. It goes on where the estimate falls, or the bound is raised. */
export function judgeCost(draft: Judged): void {
  const { state, at } = draft;
  const { layout, phase, paused, keep, cursor, inFlight, maxCostAtMs } = state;
  const computes = phase === "computing" && !paused && keep !== true && layout !== undefined;
  const waits =
    computes &&
    (cursor < packsOf(layout) || draft.unaffordable || (maxCostAtMs !== undefined && inFlight > 0)) &&
    !affords(state, inFlight + 1);
  if (waits === (maxCostAtMs !== undefined)) return;
  draft.noted = true;
  if (waits) state.maxCostAtMs = at.nowMs;
  else delete state.maxCostAtMs;
}
