import type { State } from "../model/state.ts";

/**
 * What one leader keeps in its process about a run, in local time unless a field says otherwise. A new leader begins
 * with empty notes, so nothing that decides about a resend is kept here alone. Each of the three has one author:
 * `poll` gives new `Lists`, `decide` gives new `RunNotes`, and whatever sends and writes keeps `SendNotes`.
 */

/** When a decision is made, and for which limits. */
export interface DecideTime {
  /** Storage's time of the poll. */
  readonly nowMs: number;
  /** This process's own monotonic time, for intervals. */
  readonly localMs: number;
  /** Time limit of one attempt in this run. */
  readonly limitMs: number;
}

/** A run as its leader knows it between two polls. */
export interface Known {
  /** The confirmed state, or one ahead of it by progress that was not worth a write yet. */
  readonly working: State;
  readonly notes: Readonly<RunNotes>;
  readonly lists: Lists;
  readonly sendNotes: SendNotes;
}

/** What was judged so far. */
export interface RunNotes {
  window: number;
  /** When it was decided about last, by this process's clock. */
  polledMs: number;
  /** Packs that it may send past the queue: its share grows by the time. */
  credit?: number | undefined;
  /** Workers take packs faster than the window grew. */
  starved: boolean;
  rateSample?: { readonly atMs: number; readonly gained: number } | undefined;
  /** Since when the rate is measured; long ago where an earlier leader has measured it. */
  rateSinceMs: number;
  /** When the phase last changed, for the pace of the loop. */
  phaseSinceMs: number;
  /** Work counts as lost only by failures that were listed after it was due. */
  listFailures: boolean;
  /** Work has been taken for so long that its message may be in a poison queue. */
  readPoison: boolean;
  /** Since when the work was taken last whose time was worth a write, storage's time. */
  takenKeptMs: number;
  /** Until the next piece of work in flight counts as lost; known once no sent pack waits in a queue. */
  lostInMs: number;
  /** When work in flight was last seen in a queue or in a live heartbeat, by `workName`, storage's time. */
  seenMs: ReadonlyMap<string, number>;
  /** When a live process last computed any work of the run, storage's time. */
  computedMs: number;
  /** No message of the run's packs was left in the queues. */
  drained: boolean;
  /** Until when work waits for its next attempt, or waited, by `workName`. */
  waits: ReadonlyMap<string, Wait>;
  /** All that is in flight waits until then, storage's time and local. */
  idleUntilMs?: number | undefined;
  idleUntilLocalMs?: number | undefined;
  /** What had ended when this last grew, and when that was seen, storage's time. */
  ended?: { readonly what: string; readonly atMs: number };
}

/** A send whose message was hidden at `notedMs` until `untilMs`, storage's time, and why. */
export interface Wait {
  readonly send: number;
  readonly notedMs: number;
  readonly untilMs: number;
  readonly code: string;
  readonly message: string;
}

/** What was listed when, and where the next poll begins if it cannot list all. */
export interface Lists {
  /** When failure records were last listed with an answer, also in storage's time; whether one page is too few for them. */
  readonly failuresMs: number;
  readonly failuresAtMs: number;
  readonly manyFailures: boolean;
  /** Prefixes of failure records listed so far. */
  readonly failuresFrom: number;
  /** When nodes were last polled, also in storage's time. */
  readonly nodesMs: number;
  readonly nodesAtMs: number;
  /** Groups of open shards listed so far. */
  readonly shardsFrom: number;
}

/** What was sent, and what of it no state tells yet. */
export interface SendNotes {
  /** When the state was last written, and the packs that were sent since, by `sendKey`. */
  wroteMs: number;
  readonly unwritten: Set<string>;
  /** Tasks that were sent since. */
  tasksUnwritten: number;
  /** Something is ahead of the state that was written. */
  dirty: boolean;
  /** Work of the run went to a queue in this term, or before it. */
  queued: boolean;
  /** Up to which pack sends were begun in a turn, whatever became of them. */
  handedOut?: { readonly turn: number; readonly upTo: number };
  /** Recorded tasks that were sent in this term, by `taskKey`. */
  readonly tasksSent: Set<string>;
  /** Tasks that an earlier term recorded and may have sent, by `taskKey`. */
  readonly possiblySent: ReadonlySet<string>;
}

const never = Number.NEGATIVE_INFINITY;

/** `rate`: as an earlier leader measured it. */
export const newRunNotes = (localMs: number, rate = 0): RunNotes => ({
  window: 0,
  polledMs: localMs,
  starved: false,
  rateSinceMs: rate > 0 ? never : localMs,
  phaseSinceMs: localMs,
  listFailures: false,
  readPoison: false,
  lostInMs: Number.POSITIVE_INFINITY,
  takenKeptMs: Number.NEGATIVE_INFINITY,
  seenMs: new Map(),
  computedMs: never,
  drained: false,
  waits: new Map(),
});

export const newLists = (localMs: number): Lists => ({
  failuresMs: never,
  failuresAtMs: never,
  manyFailures: false,
  failuresFrom: 0,
  nodesMs: localMs,
  nodesAtMs: never,
  shardsFrom: 0,
});

/** `possiblySent`: what an earlier leader may have sent; undefined where there was none. */
export const newSendNotes = (localMs: number, possiblySent?: Iterable<string>): SendNotes => ({
  wroteMs: localMs,
  unwritten: new Set(),
  tasksUnwritten: 0,
  dirty: false,
  queued: possiblySent !== undefined,
  tasksSent: new Set(),
  possiblySent: new Set(possiblySent),
});

export const sendKey = (
  { turn }: State,
  { pack, send }: { readonly pack: number; readonly send: number },
): string => `${turn}.${pack}.${send}`;

/** The latest send of a recorded task. */
export const taskKey = (state: State, name: string): string =>
  `${state.generation}.${name}.${state.tasks[name]?.send}`;

/** Tasks that this term has recorded and not sent. What an earlier one recorded and may have sent is judged first. */
export const unsentTasks = (state: State, { tasksSent, possiblySent }: SendNotes): string[] =>
  Object.keys(state.tasks).filter((name) => {
    const key = taskKey(state, name);
    return state.tasks[name]?.enqueued !== true && !tasksSent.has(key) && !possiblySent.has(key);
  });

/**
 * Up to which pack some may have been sent beyond the cursor: by an earlier leader, or by this one where another send or the
 * write that was to record them failed.
 */
export const possiblySentBelow = (
  { turn, cursor, possiblySentUpTo }: State,
  { handedOut }: SendNotes,
): number =>
  handedOut?.turn === turn && handedOut.upTo > cursor
    ? Math.max(possiblySentUpTo, handedOut.upTo)
    : possiblySentUpTo;
