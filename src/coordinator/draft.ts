import { wireVersion } from "../model/decode.ts";
import type { WorkMessage } from "../model/message.ts";
import { chunksOfPack, type Layout, shardOf } from "../model/packs.ts";
import type { State } from "../model/state.ts";

/**
 * One decision in the making: the next state and what is to be sent. The steps of a decision each take the draft
 * in turn and change it; nothing here does any I/O.
 */
export interface Draft {
  readonly state: State;
  /** Sent before the state is written: packs, first sends and repeated ones. A crash in between sends them again. */
  readonly packs: PackSend[];
  /** Sent only after the state that records them was confirmed: plan, combine, finish. */
  readonly tasks: TaskSend[];
  /** The state must be written at once, because something depends on it. */
  decided: boolean;
  /** The run ends: its final phase, unless a manifest turns up. */
  ending?: { phase: "complete" | "failed" | "cancelled"; error?: { code: string; message: string } };
}

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
  rateSample?: { atMs: number; done: number };
  /** When the phase last changed, for the pace of the loop. */
  phaseSinceMs: number;
  /** When the state was last written, and how many packs were sent since. */
  wroteMs: number;
  sendsUnwritten: number;
  /** Recorded tasks may not all have been sent: send them again from the next confirmed state. */
  tasksUnsent: boolean;
  /** When failure records were last looked for. */
  failuresMs: number;
}

export const newMemory = (localMs: number): Memory => ({
  begunMs: new Map(),
  guessed: true,
  window: 0,
  phaseSinceMs: localMs,
  wroteMs: localMs,
  sendsUnwritten: 0,
  tasksUnsent: true,
  failuresMs: Number.NEGATIVE_INFINITY,
});

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
      const members = state.sealed[task.index]?.members;
      return {
        ...common(state, task.send),
        kind: "combine",
        level: task.level,
        index: task.index,
        ...(members === undefined ? {} : { members }),
      };
    }
    case "finish": {
      // With one shard its packs are folded directly, so its members travel with the finish.
      const members = state.sealed[0]?.node === false ? state.sealed[0].members : undefined;
      return { ...common(state, task.send), kind: "finish", ...(members === undefined ? {} : { members }) };
    }
  }
}

export const cleanupMessage = (state: State, shard: number): WorkMessage => ({
  ...common(state, 1),
  kind: "cleanup",
  shard,
});
