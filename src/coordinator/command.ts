import type { Draft } from "./draft.ts";
import type { Seen } from "./seen.ts";

/**
 * Takes over what the marker wants. A cancel before `finishing` ends the run; from then on it is too late. A new
 * turn (a pause or resume that this state has not seen) makes workers drop what was sent under the old one, so
 * every unfinished pack will be sent again.
 */
export function takeCommand(draft: Draft, { marker }: Pick<Seen, "marker">): { readonly newTurn: boolean } {
  const { state } = draft;
  const newTurn = marker.turn !== state.turn;
  if (marker.command === state.command && !newTurn && marker.cap === state.cap) return { newTurn: false };
  state.command = marker.command;
  state.cap = marker.cap;
  state.paused = marker.want === "paused";
  state.turn = marker.turn;
  state.answer = "done";
  draft.decided = true;
  if (marker.want === "cancelled" || marker.want === "delete") {
    if (state.phase === "finishing") state.answer = "too-late";
    else draft.ending = { phase: "cancelled" };
  }
  return { newTurn };
}
