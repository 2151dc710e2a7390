import { decide } from "../../src/engine/leader/decide/decide.ts";
import { type DecideAt, type Draft, newDraft, type Share } from "../../src/engine/leader/decide/draft.ts";
import { taskMessage } from "../../src/engine/leader/decide/messages.ts";
import {
  type Lists,
  newLists,
  newSendNotes,
  type RunNotes,
  type SendNotes,
  unsentTasks,
} from "../../src/engine/leader/notes.ts";
import {
  type Observed,
  type Seen,
  type SeenHeartbeat,
  type SeenQueue,
  workKey,
} from "../../src/engine/leader/seen.ts";
import { type Work, workName } from "../../src/engine/model/runBlobs.ts";
import { firstState, type State } from "../../src/engine/model/state.ts";
import { runNotes, seen } from "../support/runFixtures.ts";

/** When the tests of the decisions begin, storage's time; `afterMs` counts from here. */
export const startMs = 1_000_000;
export const limitMs = 300_000;

export const first = () => firstState({ run: "r", uid: "u", generation: 1, cap: 2000, nowMs: startMs });

/** No other run takes the workers. */
export const alone: Share = {
  ...{ runs: 1, beside: false, overtakes: false },
  ...{ packsAtOnce: undefined, waitMs: undefined },
};

/** Decides once, `afterMs` after the start, after a poll that listed all there is where `found` says nothing else. */
export function step(
  state: State,
  found: Partial<Seen> = {},
  notes: RunNotes = runNotes(),
  afterMs = 0,
  { sendNotes = newSendNotes(0), ...more }: Partial<DecideAt> & { readonly sendNotes?: SendNotes } = {},
): Draft {
  const lists = listedAt(afterMs);
  const at = { nowMs: startMs + afterMs, localMs: afterMs, limitMs, share: alone, ...more };
  const draft = decide({ working: state, notes, sendNotes }, seen({ lists, ...found }), at);
  // As whoever performs it does.
  Object.assign(notes, draft.notes);
  return draft;
}

/** Failures were listed then, and nodes as well if nothing else is said. */
export const listedAt = (afterMs: number, nodesAfterMs = afterMs): Lists => ({
  ...newLists(0),
  ...{ failuresMs: afterMs, failuresAtMs: startMs + afterMs, nodesAtMs: startMs + nodesAfterMs },
});

/** What workers and queues tell: where nothing else is said, nobody computes and nothing waits. */
export interface Told {
  readonly heartbeats?: readonly SeenHeartbeat[];
  readonly packs?: Partial<SeenQueue>;
  readonly urgent?: Partial<SeenQueue>;
}
const emptyQueue: SeenQueue = { full: false, waiting: new Set(), firstPack: new Map(), oldestMs: undefined };

export const observedAt = (afterMs: number, { heartbeats = [], packs, urgent }: Told = {}): Observed => ({
  nowMs: startMs + afterMs,
  heartbeats: Map.groupBy(heartbeats, (heartbeat) => workKey(heartbeat, workName(heartbeat.work))),
  computing: new Map(
    [
      ...Map.groupBy(
        heartbeats.filter(({ live, begun }) => live && begun),
        ({ uid }) => uid,
      ),
    ].map(([uid, all]) => [uid, all.length]),
  ),
  packs: { ...emptyQueue, ...packs },
  urgent: { ...emptyQueue, ...urgent },
});

/** The heartbeat of a process that has begun a first send. */
export const heartbeatOf = (work: Work, more: Partial<SeenHeartbeat> = {}): SeenHeartbeat => ({
  ...{ run: "r", uid: "u", work, generation: 1, send: 1, ageMs: 1_500, begun: true, isolated: false },
  ...{ instance: "node-1", live: true, fresh: true, silentMs: 0, ended: undefined },
  ...more,
});

/** A queue that shows the messages of this work. */
export const waitingFor = (...works: readonly Work[]): Partial<SeenQueue> => ({
  waiting: new Set(works.map((work) => workKey({ uid: "u", generation: 1 }, workName(work)))),
});

/** A draft of nothing yet, for tests of single steps. */
export const draftOf = (state: State, notes = runNotes(), nowMs = startMs, packLimitMs = limitMs): Draft =>
  newDraft(
    { working: state, notes, sendNotes: newSendNotes(0) },
    { nowMs, localMs: 0, limitMs: packLimitMs, share: alone },
  );

/** The tasks that are sent once this decision is confirmed. */
export const tasksOf = ({ state }: Pick<Draft, "state">) =>
  unsentTasks(state, newSendNotes(0)).map((name) => {
    const { kind, send } = taskMessage(state, name);
    return { kind, send };
  });

/** As `perform` leaves the state once every task was sent. */
export const allSent = (state: State): State => ({
  ...state,
  tasks: Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [name, { ...task, enqueued: true }]),
  ),
});
