import type { State } from "../../model/state.ts";
import type { SeenFailure } from "../seen.ts";
import type { Draft } from "./draft.ts";
import { expectedPackMs } from "./pace.ts";

/** Attempts without an output cost calls and instances too (`model/runCost.ts`). Nobody tells how long each took. */
export function addWasted(state: State, attempts: number, msEach: number): void {
  if (attempts <= 0) return;
  const { wasted } = state;
  state.wasted = { attempts: wasted.attempts + attempts, ms: wasted.ms + attempts * msEach };
}

/** As long as packs take, and no longer than an attempt may. */
export const addLost = ({ state, at }: Draft): void =>
  addWasted(state, 1, Math.min(expectedPackMs(state), at.limitMs));

/** Those of ended sends, which are counted once: when the pack fails or is sent again. */
export function addEnded(draft: Draft, records: readonly SeenFailure[], since: number): void {
  for (const { send, attempts, code } of records) {
    if (send < since) continue;
    if (code === "time-limit") addWasted(draft.state, 1, draft.at.limitMs);
    else addLost(draft);
    for (let before = 1; before < attempts; before += 1) addLost(draft);
  }
}
