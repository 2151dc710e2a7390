import { limits } from "../../model/limits.ts";
import type { Layout } from "../../model/packs.ts";
import { type Work, workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import type { Observed } from "../observed.ts";

/** When a decision is made, and for which limits. */
export interface DecideTime {
  /** Storage's time of the poll. */
  readonly nowMs: number;
  /** This process's own monotonic time, for intervals. */
  readonly localMs: number;
  /** Time limit of one attempt in this run. */
  readonly limitMs: number;
}

export interface DecideAt extends DecideTime {
  /** Packs of this run that may be computed at once; absent where it shares the workers with no other run. */
  readonly share?: number | undefined;
  /** What workers and queues tell; absent where they were not read in this loop. */
  readonly observed?: Observed | undefined;
  /** Messages that are sent before the next write anyway. */
  readonly owed?: number;
}

/**
 * One decision in the making: the next state and what is to be sent. The steps of a decision each take the draft
 * in turn and change it; nothing here does any I/O.
 */
export interface Draft {
  readonly state: State;
  readonly notes: RunNotes;
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
  /** The run ends: its final phase, unless a manifest turns up. */
  ending?: Ending;
}

export interface Ending {
  readonly phase: "complete" | "failed" | "cancelled";
  readonly error?: { readonly code: string; readonly message: string };
}

/** A draft on a copy of the state: the steps of a decision change it in place. */
export const newDraft = (state: State, notes: RunNotes, at: DecideAt): Draft => ({
  ...{ state: copyOf(state), notes, at, packs: [], records: [] },
  ...{ unsent: at.owed ?? 0, gained: 0, decided: false, noted: false },
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
  readonly alone?: boolean | undefined;
}

/**
 * Notes of the leader of one term about a run, in local time unless a field says otherwise. A new leader begins with
 * empty notes, so nothing that decides about a resend is kept here alone.
 */
export interface RunNotes {
  window: number;
  /** Workers take packs faster than the window grew. */
  starved: boolean;
  rateSample?: { readonly atMs: number; gained: number } | undefined;
  /** Since when the rate is measured; long ago where an earlier leader has measured it. */
  rateSinceMs: number;
  /** When the phase last changed, for the pace of the loop. */
  phaseSinceMs: number;
  /** When the state was last written, and the packs that were sent since, by `sendKey`. */
  wroteMs: number;
  readonly unwritten: Set<string>;
  /** Up to which pack sends were begun in a turn, whatever became of them. */
  handedOut?: { readonly turn: number; readonly upTo: number };
  /** Tasks that were sent since. */
  tasksUnwritten: number;
  /** Recorded tasks that were sent in this term, by `taskKey`. */
  readonly tasksSent: Set<string>;
  /** Tasks that an earlier term recorded and may have sent, by `taskKey`. */
  readonly doubtful: ReadonlySet<string>;
  /** Something is ahead of the state that was written. */
  dirty: boolean;
  /** When failure records were last listed with an answer, also in storage's time; whether one page is too few for them. */
  failuresMs: number;
  failuresAtMs: number;
  manyFailures: boolean;
  /** Work counts as lost only by failures that were listed after it was due. */
  wantsFailures: boolean;
  /** Until the next piece of work in flight counts as lost; known once no sent pack waits in a queue. */
  lostInMs: number;
  /** Prefixes of failure records listed so far: where the next poll begins if it cannot list them all. */
  failuresFrom: number;
  /** When nodes were last polled, also in storage's time. */
  nodesMs: number;
  nodesAtMs: number;
  /** When work in flight was last seen in a queue or in a live sign, by `workName`, storage's time. */
  seenMs: ReadonlyMap<string, number>;
  /** When a live process last computed any work of the run, storage's time. */
  computedMs: number;
  /** No message of the run's packs was left in the queues. */
  drained: boolean;
  /** What had ended when this last grew, and when that was seen, storage's time. */
  ended?: { readonly what: string; readonly atMs: number };
  /** Groups of open shards listed so far: where the next poll begins if it cannot list them all. */
  shardsFrom: number;
}

const never = Number.NEGATIVE_INFINITY;

export const newRunNotes = (localMs: number, rate = 0, doubtful: Iterable<string> = []): RunNotes => ({
  ...{
    window: 0,
    starved: false,
    dirty: false,
    manyFailures: false,
    wantsFailures: false,
  },
  ...{ phaseSinceMs: localMs, wroteMs: localMs, nodesMs: localMs },
  rateSinceMs: rate > 0 ? never : localMs,
  ...{ failuresMs: never, failuresAtMs: never, nodesAtMs: never, computedMs: never },
  ...{ lostInMs: Number.POSITIVE_INFINITY, drained: false },
  ...{ tasksUnwritten: 0, failuresFrom: 0, shardsFrom: 0 },
  ...{ unwritten: new Set(), tasksSent: new Set(), doubtful: new Set(doubtful) },
  ...{ seenMs: new Map() },
});

export const sendKey = (state: State, { pack, send }: PackSend): string => `${state.turn}.${pack}.${send}`;

/**
 * Up to which pack some may have been sent beyond the cursor: by an earlier leader, or by this one where another send or the
 * write that was to record them failed.
 */
export const doubtedUpTo = ({ turn, cursor, doubtUpTo }: State, { handedOut }: RunNotes): number =>
  handedOut?.turn === turn && handedOut.upTo > cursor ? Math.max(doubtUpTo, handedOut.upTo) : doubtUpTo;

/** The latest send of a recorded task. */
export const taskKey = (state: State, name: string): string =>
  `${state.generation}.${name}.${state.tasks[name]?.sends}`;

/** Tasks that this term has recorded and not sent. What an earlier one recorded and may have sent is judged first. */
export const unsentTasks = (state: State, notes: RunNotes): string[] =>
  Object.keys(state.tasks).filter((name) => {
    const key = taskKey(state, name);
    return state.tasks[name]?.sent !== true && !notes.tasksSent.has(key) && !notes.doubtful.has(key);
  });

/** A task as it is recorded before its first send. */
export const newTask = (nowMs: number): Sends => ({ sends: 1, atMs: nowMs, lost: 0, since: 1 });

/** Records a task; it is sent once that is confirmed. */
export function addTask(draft: Draft, name: string): void {
  draft.state.tasks[name] = newTask(draft.at.nowMs);
  draft.decided = true;
}

export function resendTask(draft: Draft, task: Sends): void {
  task.sends += 1;
  task.atMs = draft.at.nowMs;
  delete task.takenMs;
  delete task.sent;
  draft.decided = true;
}

/** Has a pack sent. One that was sent since the last write already takes no room. */
export function addSend(draft: Draft, send: PackSend): void {
  draft.packs.push(send);
  if (!draft.notes.unwritten.has(sendKey(draft.state, send))) draft.unsent += 1;
}

/** Messages that still fit between two writes of the state. */
export const roomToWrite = ({ unsent, notes }: Draft): number =>
  limits.sendsPerWriteMax - unsent - notes.unwritten.size - notes.tasksUnwritten;

/** The layout of a run that was planned. */
export function layoutOf({ run, layout }: State): Layout & { readonly packMs: number } {
  if (layout === undefined) throw new Error(`run ${run} has no plan yet`);
  return layout;
}

/** A node that was asked for: a sealed shard's, or one above the shards. */
export const nodeIn = (state: State, level: number, index: number) =>
  level === 1 ? state.sealed[index] : state.groups[workName({ kind: "node", level, index })];

/** The node that a name of `state.tasks` stands for. */
export function nodeOf(name: string): { readonly level: number; readonly index: number } | undefined {
  const match = /^node\/(\d+)\/(\d+)$/.exec(name);
  return match === null ? undefined : { level: Number(match[1]), index: Number(match[2]) };
}
