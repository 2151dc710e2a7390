import { wireVersion } from "../../model/decode.ts";
import type { WorkMessage } from "../../model/message.ts";
import { chunksOfPack, type Range, shardOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../../model/tree.ts";
import { layoutOf, nodeOf, type PackSend } from "./draft.ts";

/** The messages that a state calls for; fields that are undefined are not encoded. */

const common = ({ run, uid, generation, turn, code, mix, origin }: State, send: number) => ({
  ...{ v: wireVersion as 1, run, uid, gen: generation, send, turn, code, mix },
  origin,
});

export function packMessage(state: State, one: PackSend): WorkMessage {
  const layout = layoutOf(state);
  const { pack, send, repeat, alone } = one;
  return {
    ...{ ...common(state, send), repeat: repeat || undefined, alone: alone || undefined },
    ...{ kind: "compute", shard: shardOf(layout, pack), pack, ...chunksOfPack(layout, pack) },
  };
}

/** The latest send of a recorded task. `doubt`: another leader may have sent it before. */
export function taskMessage(state: State, name: string, doubt: boolean): WorkMessage {
  const { sends = 1, alone } = state.tasks[name] ?? {};
  const all = { ...common(state, sends), repeat: doubt || sends > 1 || undefined, alone: alone || undefined };
  if (name === "plan") return { ...all, kind: "plan" };
  const node = nodeOf(name);
  if (node !== undefined) {
    const { level, index } = node;
    const members = level === 1 ? state.sealed[index]?.members : undefined;
    const childGens =
      level === 1 ? undefined : gensOf(state, level - 1, childrenOf(layoutOf(state), level, index));
    return { ...all, kind: "combine", level, index, members, childGens };
  }
  const layout = layoutOf(state);
  const level = topLevel(layout);
  // With one shard its packs are folded directly, so its members travel with the finish.
  const members = level === 0 ? state.sealed[0]?.members : undefined;
  const top = { from: 0, to: nodeCounts(layout)[level - 1] ?? 0 };
  const childGens = level === 0 ? undefined : gensOf(state, level, top);
  const terms = state.terms.map(({ term, holder }) => ({ term, holder }));
  return { ...all, kind: "finish", members, childGens, terms };
}

/** The generation of each of these nodes as text, or undefined where all are of this generation. */
function gensOf(state: State, level: number, nodes: Range): string | undefined {
  const gens = Array.from({ length: sizeOf(nodes) }, (_, offset) => {
    const index = nodes.from + offset;
    const node = level === 1 ? state.sealed[index] : state.groups[workName({ kind: "node", level, index })];
    return node?.gen ?? state.generation;
  });
  return gens.every((gen) => gen === state.generation) ? undefined : encodeGens(gens);
}

/** Deletes the partials of a shard, or without one all nodes. */
export const cleanupMessage = (state: State, shard?: number): WorkMessage => ({
  ...common(state, 1),
  ...{ kind: "cleanup", shard },
});
