import { wireVersion } from "../model/decode.ts";
import { limits } from "../model/limits.ts";
import type { WorkMessage } from "../model/message.ts";
import { workName } from "../model/names.ts";
import { chunksOfPack, type Layout, type Range, shardOf, sizeOf } from "../model/packs.ts";
import type { State } from "../model/state.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../model/tree.ts";

/**
 * One decision in the making: the next state and what is to be sent. The steps of a decision each take the draft
 * in turn and change it; nothing here does any I/O.
 */
export interface Draft {
  readonly state: State;
  /** Sent before the state is written: packs, first sends and repeated ones. A crash in between sends them again. */
  readonly packs: PackSend[];
  /** How many of them have not been put yet: what failed half-way is decided again. */
  puts: number;
  /** Sent only after the state that records them was confirmed: plan, combine, finish. */
  readonly tasks: TaskSend[];
  /** Packs whose partial was found in this look, for the rate. */
  gained: number;
  /** The state must be written at once, because something depends on it. */
  decided: boolean;
  /** The run ends: its final phase, unless a manifest turns up. */
  ending?: { phase: "complete" | "failed" | "cancelled"; error?: { code: string; message: string } };
}

export const newDraft = (state: State): Draft => ({
  state: structuredClone(state),
  packs: [],
  puts: 0,
  tasks: [],
  gained: 0,
  decided: false,
});

export interface PackSend {
  readonly pack: number;
  readonly send: number;
  readonly urgent: boolean;
}

export type TaskSend =
  | { readonly kind: "plan"; readonly send: number }
  | { readonly kind: "combine"; readonly level: number; readonly index: number; readonly send: number }
  | { readonly kind: "finish"; readonly send: number };

/** What the leader of one term keeps in mind of a run, in local time; a new leader begins with an empty one. */
export interface Memory {
  /** When a sent pack was first presumed begun; `guessed` while no outcome told how many run at once. */
  readonly begunMs: Map<number, number>;
  guessed: boolean;
  window: number;
  /** Workers take packs faster than the window grew. */
  starved: boolean;
  rateSample?: { readonly atMs: number; gained: number } | undefined;
  /** Since when the rate is measured; long ago where an earlier leader has measured it. */
  rateSinceMs: number;
  /** When the phase last changed, for the pace of the loop. */
  phaseSinceMs: number;
  /** When the state was last written, and the sends of packs that were put since, by `sendKey`. */
  wroteMs: number;
  readonly unwritten: Set<string>;
  /** Other messages put since. */
  tasksPut: number;
  /** Recorded tasks may not all have been sent: send them again from the next confirmed state. */
  tasksUnsent: boolean;
  /** When failure records were last looked for with an answer, and whether they no longer fit on one page. */
  failuresMs: number;
  manyFailures: boolean;
  /** Where the next look for them begins. */
  failuresFrom: number;
  /** When nodes were last looked for. */
  nodesMs: number;
  /** The latest send of a piece of work that threw and that the host will try again, by `workName`. */
  readonly tried: Map<string, number>;
  /** Groups of open shards looked at so far: where the next look begins when it cannot look at all. */
  lookFrom: number;
}

export const newMemory = (localMs: number, rate = 0): Memory => ({
  begunMs: new Map(),
  guessed: true,
  window: 0,
  starved: false,
  rateSinceMs: rate === 0 ? localMs : Number.NEGATIVE_INFINITY,
  phaseSinceMs: localMs,
  wroteMs: localMs,
  unwritten: new Set(),
  tasksPut: 0,
  tasksUnsent: true,
  failuresMs: Number.NEGATIVE_INFINITY,
  manyFailures: false,
  failuresFrom: 0,
  nodesMs: localMs,
  tried: new Map(),
  lookFrom: 0,
});

export const sendKey = (state: State, { pack, send }: PackSend): string => `${state.turn}.${pack}.${send}`;

/** Has a pack sent. One whose put is known to have happened since the last write costs none. */
export function addSend(draft: Draft, memory: Memory, send: PackSend): void {
  draft.packs.push(send);
  if (!memory.unwritten.has(sendKey(draft.state, send))) draft.puts += 1;
}

/** Puts that still fit between two writes of the state. */
export const roomToWrite = (draft: Draft, memory: Memory): number =>
  limits.sendsPerWriteMax - draft.puts - memory.unwritten.size - memory.tasksPut;

/** The layout of a run that was planned. */
export function layoutOf(state: State): Layout & { readonly packMs: number } {
  if (state.layout === undefined) throw new Error(`run ${state.run} has no plan yet`);
  return state.layout;
}

const common = (state: State, send: number) => ({
  v: wireVersion as 1,
  run: state.run,
  uid: state.uid,
  gen: state.generation,
  send,
  turn: state.turn,
});

export function packMessage(state: State, { pack, send }: PackSend): WorkMessage {
  const layout = layoutOf(state);
  return {
    ...common(state, send),
    kind: "compute",
    shard: shardOf(layout, pack),
    pack,
    ...chunksOfPack(layout, pack),
  };
}

export function taskMessage(state: State, task: TaskSend): WorkMessage {
  switch (task.kind) {
    case "plan":
      return { ...common(state, task.send), kind: "plan" };
    case "combine": {
      const { level, index } = task;
      const members = level === 1 ? state.sealed[index]?.members : undefined;
      const gens =
        level === 1 ? undefined : gensOf(state, level - 1, childrenOf(layoutOf(state), level, index));
      return {
        ...common(state, task.send),
        kind: "combine",
        level,
        index,
        ...(members === undefined ? {} : { members }),
        ...(gens === undefined ? {} : { childGens: gens }),
      };
    }
    case "finish": {
      const layout = layoutOf(state);
      const level = topLevel(layout);
      // With one shard its packs are folded directly, so its members travel with the finish.
      const members = level === 0 ? state.sealed[0]?.members : undefined;
      const top = { from: 0, to: nodeCounts(layout)[level - 1] ?? 0 };
      const gens = level === 0 ? undefined : gensOf(state, level, top);
      return {
        ...common(state, task.send),
        kind: "finish",
        ...(members === undefined ? {} : { members }),
        ...(gens === undefined ? {} : { childGens: gens }),
        terms: state.terms.map(({ term, holder }) => ({ term, holder })),
      };
    }
  }
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

/** The node that a name of `state.tasks` stands for. */
export function nodeOf(name: string): { readonly level: number; readonly index: number } | undefined {
  const match = /^node\/(\d+)\/(\d+)$/.exec(name);
  return match === null ? undefined : { level: Number(match[1]), index: Number(match[2]) };
}

/** Deletes the partials of a shard, or without one all nodes. */
export const cleanupMessage = (state: State, shard?: number): WorkMessage => ({
  ...common(state, 1),
  kind: "cleanup",
  ...(shard === undefined ? {} : { shard }),
});
