import type { Draft, Memory } from "./draft.ts";
import { beginTurn } from "./restart.ts";
import type { Seen } from "./seen.ts";

/**
 * Takes over what the marker wants. A cancel before `finishing` ends the run; from then on it is too late. A new
 * turn (a pause or resume that this state has not seen) makes workers drop what was sent under the old one and they
 * have not begun, so every unfinished pack will be sent again.
 */
export function takeCommand(draft: Draft, memory: Memory, { marker }: Pick<Seen, "marker">): void {
  const { state } = draft;
  const newTurn = marker.turn !== state.turn;
  if (marker.command === state.command && !newTurn && marker.cap === state.cap) return;
  state.command = marker.command;
  state.cap = marker.cap;
  state.paused = marker.want === "paused" && state.phase !== "finishing";
  state.turn = marker.turn;
  state.answer = "done";
  draft.decided = true;
  if (state.phase === "finishing" && marker.want !== "run") state.answer = "too-late";
  else if (marker.want === "cancelled") draft.ending = { phase: "cancelled" };
  if (!newTurn || state.paused || state.phase !== "computing") return;
  beginTurn(state);
  memory.begunMs.clear();
}
