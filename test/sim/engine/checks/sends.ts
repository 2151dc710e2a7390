import { limits } from "../../../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../../../src/engine/model/message.ts";
import { workName } from "../../../../src/engine/model/runBlobs.ts";
import { isFinal, type State } from "../../../../src/engine/model/state.ts";
import { outcomes } from "./counts.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

/**
 * Packs are sent first and recorded after, none beyond those that the next leader would take for possibly sent; plan, combine and finish the other way round,
 * from a confirmed state.
 */
export function sendsAndRecordsAgree({ ledger, report }: Scene): Check {
  /** Packs put, by uid, generation and turn. */
  const packs = new Map<string, Set<number>>();
  /** Sends that a state has recorded, by uid, generation and piece of work. */
  const recorded = new Map<string, number>();
  const members = new Map<string, string>();

  function onPack(message: Extract<WorkMessage, { kind: "compute" }>): void {
    const key = `${message.uid} ${message.gen} ${message.turn}`;
    const known = packs.get(key) ?? new Set();
    packs.set(key, known.add(message.pack));
    const { state } = ledger.record(message.run, message.uid);
    if (state?.generation !== message.gen || state.turn !== message.turn) return;
    const possiblySent = Math.max(state.cursor + limits.sendsPerWriteMax, state.possiblySentUpTo);
    if (message.pack >= possiblySent)
      report(
        "recorded what was sent",
        `pack ${message.pack} of ${message.run} is sent, a later leader takes those below for possibly sent: ${possiblySent}`,
      );
  }

  function onTask(name: string, message: WorkMessage): void {
    const key = `${message.uid} ${message.gen} ${name}`;
    if ((recorded.get(key) ?? 0) < message.send) {
      report("sent what was recorded", `send ${message.send} of ${name} in ${message.run} is in no state`);
    }
    const { members: packsFolded, childGens } = message as { members?: string; childGens?: string };
    const folds = `${packsFolded} ${childGens}`;
    // A state that was lost or put back may not know what was sealed.
    const { lostByHand } = ledger.record(message.run, message.uid);
    const before = lostByHand === true ? folds : (members.get(key) ?? folds);
    members.set(key, before);
    if (before !== folds) {
      report("a member set is fixed", `${name} of ${message.run} folds ${folds}, before it was ${before}`);
    }
  }

  function onState(state: State): void {
    const { uid, generation, turn, cursor } = state;
    for (const [name, { send }] of Object.entries(state.tasks)) {
      const key = `${uid} ${generation} ${name}`;
      recorded.set(key, Math.max(recorded.get(key) ?? 0, send));
    }
    // A pause has a turn of its own; the cursor walks again when the run continues. What is given up needs no send.
    if (state.phase !== "computing" || state.paused || state.keep === true) return;
    const sent = packs.get(`${uid} ${generation} ${turn}`);
    const parts = ledger.record(state.run, uid).parts;
    for (const { pack, is } of outcomes(state)) {
      if (is !== "open" || pack >= cursor || sent?.has(pack) || parts.has(pack)) continue;
      report("recorded what was sent", `pack ${pack} of ${state.run} is below the cursor, but was not sent`);
    }
  }

  return (effect) => {
    if (effect.kind === "sent") {
      const { message } = effect;
      if (message === undefined) return;
      const state = ledger.record(message.run, message.uid).state;
      if (message.kind === "compute") onPack(message);
      else if (message.kind === "plan" || message.kind === "finish") onTask(message.kind, message);
      else if (message.kind === "combine") {
        onTask(workName({ kind: "node", level: message.level, index: message.index }), message);
      } else if (message.kind === "cleanup" && state?.generation === message.gen && !isFinal(state.phase)) {
        report("sent what was recorded", `a clean-up of ${message.run} is sent while ${state.phase}`);
      }
    } else if (effect.kind === "created" || effect.kind === "replaced") {
      const place = placeOf(effect.container, effect.name);
      if (place.kind === "run" && place.rest === "state.json") onState(parsed<State>(effect.body));
    }
  };
}
