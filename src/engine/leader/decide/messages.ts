import type { WorkMessage } from "../../model/message.ts";
import { chunksOfPack, indexesOf, packsOf, type Range, shardOf } from "../../model/packs.ts";
import { parseWorkName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../../model/tree.ts";
import { versions } from "../../model/versions.ts";
import { layoutOf, nodeIn, type PackSend } from "./draft.ts";
import { packsTogether } from "./pace.ts";

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

/** A message that computes a pack, or a row of packs of one shard. */
interface PackMessage {
  readonly packs: readonly PackSend[];
  readonly message: WorkMessage;
  readonly urgent: boolean;
}

/**
 * The messages of these sends. Once packs are known to be short they share messages, since a message costs three calls
 * and a partial only one; in all else each counts as if it came alone (docs/ARCHITECTURE.md, rule 29).
 */
export function packMessages(state: State, sends: readonly PackSend[]): PackMessage[] {
  const { packsDone, packsFailed } = state;
  const most =
    sends.length > 1 ? packsTogether(state, packsOf(layoutOf(state)) - packsDone - packsFailed) : 1;
  const rows: [PackSend, ...PackSend[]][] = [];
  for (const [index, one] of sends.entries()) {
    const [row, before] = [rows.at(-1), sends[index - 1]];
    if (row && before && row.length < most && mayFollow(state, before, one)) row.push(one);
    else rows.push([one]);
  }
  return rows.map((row) => packMessage(state, row));
}

/** Only first sends share a message, also those that an earlier leader may have sent: what must not wait comes alone. */
function mayFollow(state: State, before: PackSend, one: PackSend): boolean {
  const layout = layoutOf(state);
  const inRow = one.pack === before.pack + 1 && shardOf(layout, one.pack) === shardOf(layout, before.pack);
  const plain = [before, one].every(({ urgent, alone }) => !urgent && alone !== true);
  return inRow && plain && before.repeat === one.repeat;
}

function packMessage(state: State, packs: readonly [PackSend, ...PackSend[]]): PackMessage {
  const layout = layoutOf(state);
  const [{ pack, send, urgent, repeat, alone }] = packs;
  const { to } = chunksOfPack(layout, pack + packs.length - 1);
  const { leftOut, doubt } = state.again[pack] ?? {};
  const message: WorkMessage = {
    ...common(state, send),
    repeat: repeat || undefined,
    alone: alone || undefined,
    kind: "compute",
    shard: shardOf(layout, pack),
    pack,
    ...chunksOfPack(layout, pack),
    until: packs.length > 1 ? to : undefined,
    leftOut,
    doubt,
  };
  return { packs, message, urgent };
}

/** The latest send of a recorded task. */
export function taskMessage(state: State, name: string): WorkMessage {
  const { sends = 1, alone } = state.tasks[name] ?? {};
  const all = { ...common(state, sends), repeat: sends > 1 || undefined, alone: alone || undefined };
  const work = parseWorkName(name);
  if (work?.kind === "plan") return { ...all, kind: "plan" };
  if (work?.kind === "node") {
    const { level, index } = work;
    const { members, gapped } = (level === 1 ? state.sealed[index] : undefined) ?? {};
    const childGens =
      level === 1 ? undefined : gensOf(state, level - 1, childrenOf(layoutOf(state), level, index));
    return { ...all, kind: "combine", level, index, members, gapped, childGens };
  }
  const layout = layoutOf(state);
  const level = topLevel(layout);
  // With one shard its packs are folded directly, so its members travel with the finish.
  const { members, gapped } = (level === 0 ? state.sealed[0] : undefined) ?? {};
  const top = { from: 0, to: nodeCounts(layout)[level - 1] ?? 0 };
  const childGens = level === 0 ? undefined : gensOf(state, level, top);
  const terms = state.terms.map(({ term, holder }) => ({ term, holder }));
  const stopped = state.stopped && layout.chunks;
  return { ...all, kind: "finish", members, gapped, childGens, stopped, terms };
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
