import { wireVersion } from "../../model/decode.ts";
import { limits } from "../../model/limits.ts";
import type { WorkMessage } from "../../model/message.ts";
import { chunksOfPack, type Layout, type Range, shardOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../../model/tree.ts";

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
  /** Packs whose partial was found in this look, for the rate. */
  gained: number;
  /** The state must be written at once, because something depends on it. */
  decided: boolean;
  /** Something is worth a write within a second. */
  noted: boolean;
  /** The run ends: its final phase, unless a manifest turns up. */
  ending?: { phase: "complete" | "failed" | "cancelled"; error?: { code: string; message: string } };
}

export const newDraft = (state: State): Draft => ({
  state: structuredClone(state),
  packs: [],
  puts: 0,
  gained: 0,
  decided: false,
  noted: false,
});

export interface PackSend {
  readonly pack: number;
  readonly send: number;
  readonly urgent: boolean;
  /** It was sent before, or may have been. */
  readonly repeat: boolean;
  readonly alone?: boolean | undefined;
}

/**
 * What the leader of one term keeps in mind of a run, in local time unless it says otherwise. A new leader begins with
 * an empty one, so nothing that decides about a resend is kept here alone.
 */
export interface Memory {
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
  /** Sends of recorded tasks that were put in this term, by `taskKey`. */
  readonly tasksSent: Set<string>;
  /** Tasks that an earlier term recorded and may have sent, by `taskKey`. */
  readonly doubtful: ReadonlySet<string>;
  /** Something is ahead of the state that was written. */
  dirty: boolean;
  /** When failure records were last listed with an answer, also in storage's time, and whether they no longer fit on one page. */
  failuresMs: number;
  failuresAtMs: number;
  manyFailures: boolean;
  /** A straggler is only resent on failures that were listed after it became one. */
  wantsFailures: boolean;
  /** Until the next of the packs in flight is a straggler; known once none of them waits in the queue. */
  stragglerInMs: number;
  /** Where the next look for them begins. */
  failuresFrom: number;
  /** When nodes were last looked for. */
  nodesMs: number;
  /** The latest send of a piece of work of which an attempt threw and others are to come, by `workName`. */
  readonly tried: Map<string, number>;
  /** When a task last said that it is at work, by `workName`, storage's time. */
  readonly aliveMs: Map<string, number>;
  /** What had ended when this last grew, and when that was seen, storage's time. */
  ended?: { readonly what: string; readonly atMs: number };
  /** When the queues were last counted because nothing had ended for long. */
  countedMs: number;
  /** Groups of open shards looked at so far: where the next look begins when it cannot look at all. */
  lookFrom: number;
}

export const newMemory = (localMs: number, rate = 0, doubtful: Iterable<string> = []): Memory => ({
  window: 0,
  starved: false,
  rateSinceMs: rate > 0 ? Number.NEGATIVE_INFINITY : localMs,
  phaseSinceMs: localMs,
  wroteMs: localMs,
  unwritten: new Set(),
  tasksPut: 0,
  tasksSent: new Set(),
  doubtful: new Set(doubtful),
  dirty: false,
  failuresMs: Number.NEGATIVE_INFINITY,
  failuresAtMs: Number.NEGATIVE_INFINITY,
  manyFailures: false,
  wantsFailures: false,
  stragglerInMs: Number.POSITIVE_INFINITY,
  failuresFrom: 0,
  nodesMs: localMs,
  tried: new Map(),
  aliveMs: new Map(),
  countedMs: Number.NEGATIVE_INFINITY,
  lookFrom: 0,
});

export const sendKey = (state: State, { pack, send }: PackSend): string => `${state.turn}.${pack}.${send}`;

/** The latest send of a recorded task. */
export const taskKey = (state: State, name: string): string =>
  `${state.generation}.${name}.${state.tasks[name]?.sends}`;

/** Recorded tasks of which nobody knows that they were sent: those just recorded, and what an earlier leader left. */
export const unsentTasks = (state: State, memory: Memory): string[] =>
  Object.keys(state.tasks).filter(
    (name) => state.tasks[name]?.sent !== true && !memory.tasksSent.has(taskKey(state, name)),
  );

/** Records a task; it is sent once that is confirmed. */
export function addTask(draft: Draft, name: string, nowMs: number): void {
  draft.state.tasks[name] = { sends: 1, atMs: nowMs, late: 0, since: 1 };
  draft.decided = true;
}

/** Records another send of a task. */
export function resendTask(draft: Draft, task: Sends, nowMs: number): void {
  task.sends += 1;
  task.atMs = nowMs;
  delete task.sent;
  draft.decided = true;
}

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

const common = ({ run, uid, generation, turn, code, mix, origin }: State, send: number) => ({
  ...{ v: wireVersion as 1, run, uid, gen: generation, send, turn },
  ...(code === undefined ? {} : { code }),
  ...(mix === undefined ? {} : { mix }),
  ...(origin === undefined ? {} : { origin }),
});

const flags = ({ repeat, alone }: { readonly repeat: boolean; readonly alone?: boolean | undefined }) => ({
  ...(repeat ? { repeat } : {}),
  ...(alone === true ? { alone } : {}),
});

export function packMessage(state: State, one: PackSend): WorkMessage {
  const layout = layoutOf(state);
  return {
    ...common(state, one.send),
    ...flags(one),
    kind: "compute",
    shard: shardOf(layout, one.pack),
    pack: one.pack,
    ...chunksOfPack(layout, one.pack),
  };
}

/** The latest send of a recorded task. `doubt`: another leader may have sent it before. */
export function taskMessage(state: State, name: string, doubt: boolean): WorkMessage {
  const { sends = 1, alone } = state.tasks[name] ?? {};
  const all = { ...common(state, sends), ...flags({ repeat: doubt || sends > 1, alone }) };
  if (name === "plan") return { ...all, kind: "plan" };
  const node = nodeOf(name);
  if (node !== undefined) {
    const { level, index } = node;
    const members = level === 1 ? state.sealed[index]?.members : undefined;
    const gens =
      level === 1 ? undefined : gensOf(state, level - 1, childrenOf(layoutOf(state), level, index));
    return { ...all, kind: "combine", level, index, ...inputs(members, gens) };
  }
  const layout = layoutOf(state);
  const level = topLevel(layout);
  // With one shard its packs are folded directly, so its members travel with the finish.
  const members = level === 0 ? state.sealed[0]?.members : undefined;
  const top = { from: 0, to: nodeCounts(layout)[level - 1] ?? 0 };
  const gens = level === 0 ? undefined : gensOf(state, level, top);
  const terms = state.terms.map(({ term, holder }) => ({ term, holder }));
  return { ...all, kind: "finish", ...inputs(members, gens), terms };
}

const inputs = (members: string | undefined, childGens: string | undefined) => ({
  ...(members === undefined ? {} : { members }),
  ...(childGens === undefined ? {} : { childGens }),
});

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
