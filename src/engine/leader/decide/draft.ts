import type { FailedChunk } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { Layout } from "../../model/packs.ts";
import { type Work, workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import {
  type DecideTime,
  type Known,
  type RunNotes,
  type SendNotes,
  sendKey,
  unsentTasks,
} from "../notes.ts";
import type { Observed } from "../seen.ts";
import { packsAffordable } from "./maxCost.ts";

/** What a run has of the workers. */
export interface Share {
  /** Runs that take them, or will: 1 for a run alone. */
  readonly runs: number;
  /** This leader has read another of them. */
  readonly beside: boolean;
  /** Packs of this run that may be computed at once; undefined for a run alone, and while no outcome tells what all compute. */
  readonly packsAtOnce: number | undefined;
  /** For how long a pack may wait in the queue behind those of all; undefined while no outcome tells. */
  readonly waitMs: number | undefined;
  /** It queues nothing, and has its share in the urgent queue instead. */
  readonly overtakes: boolean;
  /** It has hardly anything of its share; this run has most of the workers. */
  readonly behind?: string | undefined;
}

export interface DecideAt extends DecideTime {
  readonly share: Share;
  /** What workers and queues tell; absent where they were not read in this loop. */
  readonly observed?: Observed | undefined;
}

/**
 * One decision in the making: the next state and notes, and what is to be sent. Both are copies, which the steps of a
 * decision change in turn; nothing here does any I/O.
 */
export interface Draft {
  /** The state as it was. */
  readonly before: State;
  readonly state: State;
  readonly notes: RunNotes;
  readonly sendNotes: Readonly<SendNotes>;
  readonly at: DecideAt;
  /** Sent before the state is written: packs, first sends and resends. A crash in between sends them again. */
  readonly packs: PackSend[];
  /** Records of sends whose process has died, or that were lost too often. Written before anything is sent. */
  readonly records: SendRecord[];
  /** Messages of this decision that were not sent yet: one that failed half-way is decided again. */
  unsent: number;
  /** Packs whose partial was found in this poll, for the rate. */
  gained: number;
  /** The state must be written at once, because something depends on it. */
  decided: boolean;
  /** Something is worth a write within a second. */
  noted: boolean;
  /** More chunks failed than are tolerated, and the record that says why was not listed yet: nothing follows before. */
  undecided: boolean;
  /** A further attempt at a pack was not made, since the run is at its max cost. */
  unaffordable: boolean;
  /** The run ends: its final phase, unless a manifest turns up. */
  ending?: Ending;
}

export interface Ending {
  readonly phase: "complete" | "failed" | "cancelled";
  readonly error?: { readonly code: string; readonly message: string };
}

/** Tasks that were recorded and not sent yet are sent before the next write, and so share its room. */
export const newDraft = ({ working, notes, sendNotes }: Omit<Known, "lists">, at: DecideAt): Draft => ({
  before: working,
  state: copyOf(working),
  notes: { ...notes },
  sendNotes,
  at,
  packs: [],
  records: [],
  unsent: unsentTasks(working, sendNotes).length,
  gained: 0,
  decided: false,
  noted: false,
  undecided: false,
  unaffordable: false,
});

/** A copy of what JSON can say, without absent fields. An array holds either objects or none. */
function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (typeof value[0] === "object" ? value.map(copyOf) : value.slice()) as T;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const part = (value as Record<string, unknown>)[name];
    if (part !== undefined) copy[name] = copyOf(part);
  }
  return copy as T;
}

interface SendRecord {
  readonly work: Work;
  readonly send: number;
  readonly code: string;
  readonly message: string;
  readonly final: true | undefined;
}

export interface PackSend {
  readonly pack: number;
  readonly send: number;
  readonly urgent: boolean;
  /** It was sent before, or may have been. */
  readonly repeat: boolean;
  readonly isolated?: boolean | undefined;
  /** Chunks at which earlier sends ended: this one does not compute them. */
  readonly excluded?: readonly FailedChunk[] | undefined;
}

/** A task as it is recorded before its first send. */
export const newTask = (nowMs: number): Sends => ({ send: 1, sentMs: nowMs, losses: 0, awaitedFrom: 1 });

/** Records a task; it is sent once that is confirmed. */
export function addTask(draft: Draft, name: string): void {
  draft.state.tasks[name] = newTask(draft.at.nowMs);
  draft.decided = true;
}

/** Has a pack sent. One that was sent since the last write already takes no room. */
export function addSend(draft: Draft, send: PackSend): void {
  draft.packs.push(send);
  if (!draft.sendNotes.unwritten.has(sendKey(draft.state, send))) draft.unsent += 1;
}

/** What is known of the sends of a pack that the cursor has passed. */
export const sendsOf = (state: State, pack: number): Sends =>
  state.resent[pack] ?? { send: state.cursorSend, sentMs: 0, awaitedFrom: state.cursorSend, losses: 0 };

/** Messages that still fit between two writes of the state. */
export const roomToWrite = ({ unsent, sendNotes }: Draft): number =>
  limits.sendsPerWriteMax - unsent - sendNotes.unwritten.size - sendNotes.tasksUnwritten;

/** The layout of a run that was planned. */
export function layoutOf({ run, layout }: State): Layout & { readonly packMs: number } {
  if (layout === undefined) throw new Error(`run ${run} has no plan yet`);
  return layout;
}

/**
 * Packs that the cap and the max cost let be in flight: where a thread computes several chunks of a pack at the same time, the cap
 * bounds chunks.
 */
export const packsAllowed = (state: State): number =>
  packsAffordable(state, Math.max(1, Math.floor(state.cap / chunksAtOnce(state.layout))));

/** Chunks of one pack that a thread computes at the same time. */
const chunksAtOnce = (layout: State["layout"]): number =>
  Math.min(layout?.atOnce ?? 1, layout?.packSize ?? 1);

/** The bound on these for a message, where the cap is less. */
export const atOnceMaxOf = ({ cap, layout }: Pick<State, "cap" | "layout">): number | undefined =>
  cap < chunksAtOnce(layout) ? cap : undefined;

/** A node that was asked for: a sealed shard's, or one above the shards. */
export const nodeIn = (state: State, level: number, index: number) =>
  level === 1 ? state.sealed[index] : state.groups[workName({ kind: "node", level, index })];
