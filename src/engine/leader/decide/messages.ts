import type { WorkMessage } from "../../model/message.ts";
import { chunksOfPack, indexesOf, type Range, shardOf } from "../../model/packs.ts";
import { parseWorkName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../../model/tree.ts";
import { versions } from "../../model/versions.ts";
import { atOnceMaxOf, layoutOf, nodeIn, type PackSend } from "./draft.ts";

/** The messages that a state calls for; fields that are undefined are not encoded. */

const common = ({ run, uid, generation, turn, code, spec, plan }: State, send: number) => ({
  v: versions.message,
  run,
  uid,
  gen: generation,
  send,
  turn,
  code,
  spec,
  plan,
});

/** The message of a send of a pack. */
export function packMessage(state: State, { pack, send, repeat, isolated, excluded }: PackSend): WorkMessage {
  const layout = layoutOf(state);
  return {
    ...common(state, send),
    repeat: repeat || undefined,
    isolated: isolated || undefined,
    kind: "compute",
    shard: shardOf(layout, pack),
    pack,
    ...chunksOfPack(layout, pack),
    atOnceMax: atOnceMaxOf(state),
    excluded: excluded && [...excluded],
  };
}

/** The latest send of a recorded task. */
export function taskMessage(state: State, name: string): WorkMessage {
  const { send = 1, isolated } = state.tasks[name] ?? {};
  const all = { ...common(state, send), repeat: send > 1 || undefined, isolated: isolated || undefined };
  const work = parseWorkName(name);
  if (work?.kind === "plan") return { ...all, kind: "plan" };
  if (work?.kind === "node") {
    const { level, index } = work;
    const { members } = (level === 1 ? state.sealed[index] : undefined) ?? {};
    const childGens =
      level === 1 ? undefined : gensOf(state, level - 1, childrenOf(layoutOf(state), level, index));
    return { ...all, kind: "combine", level, index, members, childGens };
  }
  const layout = layoutOf(state);
  const level = topLevel(layout);
  // With one shard its packs are folded directly, so its members travel with the finish.
  const { members } = (level === 0 ? state.sealed[0] : undefined) ?? {};
  const top = { from: 0, to: nodeCounts(layout)[level - 1] ?? 0 };
  const childGens = level === 0 ? undefined : gensOf(state, level, top);
  const terms = state.terms.map(({ term, holder }) => ({ term, holder }));
  const stopped = state.stopped && layout.chunks;
  return { ...all, kind: "finish", members, childGens, stopped, terms };
}

/** The generation of each of these nodes as text, or undefined where all are of this generation. */
function gensOf(state: State, level: number, nodes: Range): string | undefined {
  const gens = indexesOf(nodes).map((index) => nodeIn(state, level, index)?.gen ?? state.generation);
  return gens.every((gen) => gen === state.generation) ? undefined : encodeGens(gens);
}

/** Deletes the partials of a shard, or without one all nodes. */
export const cleanupMessage = (state: State, shard?: number): WorkMessage => ({
  ...common(state, 1),
  kind: "cleanup",
  shard,
  asked: state.stopped !== undefined || state.layout?.stops === true || undefined,
});
