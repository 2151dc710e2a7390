import { canonicalJson } from "../../../../src/engine/model/decode.ts";
import { isFinal, phaseMoves, type State } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

const checker = "state is one chain by term";

/**
 * The accepted writes of a state follow one another: terms never fall, a term has one termid, its numbers grow, a
 * new term first takes over what stands without a change, and phases move as the table says. A final state is
 * never written again in its generation.
 */
export const stateIsOneChain =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run" || place.rest !== "state.json") return;
    const { state: before, lostByHand } = ledger.record(place.id, place.uid);
    const next = parsed<State>(effect.body);
    if (before === undefined) return;
    for (const what of wrongWith(before, next, lostByHand)) {
      report(checker, `${place.id}: term ${next.term}, write ${next.sequence}: ${what}`);
    }
  };

function* wrongWith(before: State, next: State, lostByHand = false): Generator<string> {
  if (next.term < before.term) yield `it follows term ${before.term}`;
  if (next.termid !== before.termid && next.term === before.term) yield "two writers are in one term";
  if (next.termid === before.termid && next.sequence <= before.sequence)
    yield `it follows ${before.sequence}`;
  // A submit makes a marker anew that an operator has deleted, and its commands and turns begin anew.
  if (next.command < before.command && !lostByHand) yield `command ${next.command} follows ${before.command}`;
  if (next.turn < before.turn && !lostByHand) yield `turn ${next.turn} follows ${before.turn}`;
  if (next.generation < before.generation) yield `generation ${next.generation} follows ${before.generation}`;
  if (next.generation > before.generation) {
    // A state that was put back may have been final before.
    if (!isFinal(before.phase) && !lostByHand)
      yield `generation ${next.generation} begins while ${before.phase}`;
    return;
  }
  if (isFinal(before.phase)) yield `it follows the final ${before.phase}`;
  else if (next.phase !== before.phase && !phaseMoves[before.phase].includes(next.phase))
    yield `${next.phase} follows ${before.phase}`;
  // What is missing is known before the state is read, and one write both takes it over and ends it.
  if (next.error?.code === "spec-lost") return;
  if (next.termid !== before.termid && decisionsIn(next) !== decisionsIn(before))
    yield "a new term decides before it has taken over what stands";
}

/** Everything but who wrote it, and how far another may have sent before. */
function decisionsIn(state: State): string {
  const {
    term: _1,
    termid: _2,
    sequence: _3,
    terms: _4,
    updatedMs: _5,
    possiblySentUpTo: _6,
    ...rest
  } = state;
  return canonicalJson(rest);
}
