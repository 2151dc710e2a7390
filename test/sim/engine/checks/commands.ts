import { limits } from "../../../../src/engine/model/limits.ts";
import type { Marker } from "../../../../src/engine/model/marker.ts";
import { isFinal, type State } from "../../../../src/engine/model/state.ts";
import type { Check, Handling, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

/** A state that has seen a command does what it wants, or says that it is too late. */
export const commandsTakeEffect =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run" || place.rest !== "state.json") return;
    const state = parsed<State>(effect.body);
    const { marker } = ledger.record(place.id, place.uid);
    if (marker?.command !== state.command || marker.generation !== state.generation) return;
    const what = wrongWith(state, marker);
    if (what !== undefined) {
      report("commands are answered", `${place.id} has seen command ${state.command}, but ${what}`);
    }
  };

function wrongWith(state: State, marker: Marker): string | undefined {
  if (state.command === 0 || state.answer === undefined) return undefined;
  if (state.cap !== marker.cap) return `its cap is ${state.cap}, not ${marker.cap}`;
  if (state.turn !== marker.turn) return `its turn is ${state.turn}, not ${marker.turn}`;
  if (state.answer === "too-late") return undefined;
  if (isFinal(state.phase)) {
    // What was done is folded first where it is kept, and that may fail.
    const failed = marker.want === "cancelled" && state.phase === "failed" && state.keep !== true;
    return failed ? "it failed instead of being cancelled" : undefined;
  }
  // A pause does not hold back what is left of a run past its deadline.
  if (state.keep === true && marker.want === "paused") return undefined;
  if (state.paused !== (marker.want === "paused"))
    return `paused is ${state.paused}, it wants ${marker.want}`;
  if (state.keep === true) return undefined;
  return marker.want === "cancelled" ? `it goes on ${state.phase} after a cancel` : undefined;
}

/** A pause that came when all was over may have taken the number of a turn that the next generation begins with. */
const turnOf = (uid: string, generation: unknown, turn: unknown): string => `${uid} ${generation} ${turn}`;

/** Slack for a worker's own reading of the marker, on top of the time that it may trust one. */
const readingMs = 1_000;

/**
 * No pack is sent under the turn of a pause, and in calm weather none is begun under an earlier turn once every
 * reading of the marker from before is too old to be trusted.
 */
export function pauseHolds(scene: Scene): { readonly check: Check; onBegin(handling: Handling): void } {
  const { ledger, nowMs, report } = scene;
  const turns = new Map<string, Marker["want"]>();
  const since = new Map<string, number>();
  return {
    check(effect) {
      if (effect.kind === "sent") {
        const { message } = effect;
        if (
          message?.kind !== "compute" ||
          turns.get(turnOf(message.uid, message.gen, message.turn)) !== "paused"
        )
          return;
        report("a pause holds", `pack ${message.pack} of ${message.run} is sent under the turn of a pause`);
      } else if (effect.kind === "created" || effect.kind === "marked") {
        if (placeOf(effect.container, effect.name).kind !== "marker") return;
        const { uid = "", generation, turn, want } = effect.metadata;
        const key = turnOf(uid, generation, turn);
        // A cancel or a deletion of a paused run leaves its turn.
        if (!turns.has(key)) turns.set(key, want as Marker["want"]);
        if (!since.has(key)) since.set(key, nowMs());
      }
    },
    onBegin({ message }) {
      if (message?.kind !== "compute") return;
      const { marker } = ledger.record(message.run, message.uid);
      if (marker === undefined) return;
      const sinceMs = nowMs() - (since.get(turnOf(marker.uid, marker.generation, marker.turn)) ?? nowMs());
      const late = sinceMs > limits.markerTrustMs + readingMs;
      if (late && (marker.want === "paused" || marker.turn > message.turn)) {
        report(
          "a pause holds",
          `pack ${message.pack} of ${message.run} is begun ${sinceMs} ms after turn ${marker.turn}`,
        );
      }
    },
  };
}
