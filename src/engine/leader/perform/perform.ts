import { InvariantError } from "../../model/errors.ts";
import { encodeFailure } from "../../model/failureRecord.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { chunksOfPack } from "../../model/packs.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { phaseMoves, type State } from "../../model/state.ts";
import { type Draft, layoutOf } from "../decide/draft.ts";
import { packMessage, taskMessage } from "../decide/messages.ts";
import { expectedPackMs, packsAtOnce } from "../decide/pace.ts";
import { possiblySentBelow, type SendNotes, sendKey, taskKey, unsentTasks } from "../notes.ts";
import { commit, type Term, type TermRun } from "../term.ts";
import { sendWork } from "./send.ts";

/**
 * Performs a draft in the order that makes a crash harmless: packs are sent first and recorded after (a crash
 * resends them), everything else is recorded first and sent only from a confirmed state (rule *send order*).
 */
export async function perform(run: TermRun, draft: Draft): Promise<"kept" | "written" | "adopted"> {
  const { term, chain, sendNotes } = run;
  const { nowMs, localMs } = draft.at;
  const before = chain.state();
  await writeRecords(term, draft);
  await sendTasks(run, before);
  noteHandedOut(sendNotes, draft);
  // A later leader counts so many packs after the recorded cursor as possibly sent. Where gaps are far apart, sends go beyond them.
  const beyond = Math.max(before.cursor + limits.sendsPerWriteMax, before.possiblySentUpTo);
  if (draft.packs.some(({ pack }) => pack >= beyond) && (await writeState(run, run.working)) === "adopted")
    return "adopted";
  await sendPacks(run, draft);
  logSends(term, draft);
  const next: State = { ...draft.state, tasks: withSent(draft.state, sendNotes), updatedMs: nowMs };
  commit(run, { working: next, notes: draft.notes });
  const due = localMs - sendNotes.wroteMs >= limits.progressWriteMs;
  const full = sendNotes.unwritten.size + sendNotes.tasksUnwritten >= limits.sendsPerWriteMax;
  sendNotes.dirty ||=
    draft.noted ||
    next.packsDone !== before.packsDone ||
    sendNotes.unwritten.size > 0 ||
    newlySent(before, next);
  // A write without a reply is repeated until there is one, also when nothing else has happened since.
  if (!draft.decided && !full && !chain.unsettled() && !(sendNotes.dirty && due)) return "kept";
  assertLegalMove(before, next);
  sendNotes.wroteMs = localMs;
  if ((await writeState(run, next)) === "adopted") return "adopted";
  if (before.phase !== next.phase) {
    const moved = { from: before.phase, to: next.phase, term: term.leader.term };
    term.log(logEvents.runPhase({ run: next.run, uid: next.uid, ...moved }));
  }
  await sendTasks(run, next);
  return "written";
}

/**
 * Writes a state. `adopted`: an earlier write of mine stands instead. What was sent since is not resent when it is
 * decided again, so `sendNotes` keeps it. What was sent beyond the cursor becomes possibly sent, as `sendNotes` loses it.
 */
export async function writeState(run: TermRun, next: State): Promise<"written" | "adopted"> {
  const { chain, sendNotes } = run;
  let outcome: "written" | "adopted";
  try {
    outcome = await chain.write({ ...next, possiblySentUpTo: possiblySentBelow(next, sendNotes) });
  } finally {
    // What storage definitely refused was not decided either: a later command must not be judged by it.
    if (!chain.unsettled()) commit(run, { working: chain.state() });
  }
  if (outcome === "adopted") return outcome;
  sendNotes.unwritten.clear();
  sendNotes.tasksUnwritten = 0;
  sendNotes.dirty = false;
  return outcome;
}

/** Records sends that nobody else ends, as a worker would: the first record stands. */
async function writeRecords({ storage, names, leader }: Term, { state, records }: Draft): Promise<void> {
  const at = runBlobs(state.run, state.uid);
  const write = async ({ work, send, ...ended }: Draft["records"][number]) => {
    leader.assertLeading();
    const chunks = work.kind === "pack" ? { chunks: chunksOfPack(layoutOf(state), work.pack) } : {};
    const record = encodeFailure({ cause: "unreported", attempts: 1, ...ended, ...chunks });
    const name = at.failure(work, state.generation, send);
    await storage.blobs.create(names.runs, name, record.body, { ...record.write, signal: leader.lost });
  };
  await Promise.all(records.map(write));
}

/** Marks each task that was sent in this term as sent, so that the next leader does not send it again. */
const withSent = (state: State, { tasksSent }: SendNotes): State["tasks"] =>
  Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [
      name,
      tasksSent.has(taskKey(state, name)) ? { ...task, enqueued: true } : task,
    ]),
  );

const newlySent = (before: State, next: State): boolean =>
  Object.entries(next.tasks).some(
    ([name, task]) => task.enqueued === true && before.tasks[name]?.enqueued !== true,
  );

function noteHandedOut(sendNotes: SendNotes, { state: { turn }, packs }: Draft): void {
  const before = sendNotes.handedOut?.turn === turn ? sendNotes.handedOut.upTo : 0;
  sendNotes.handedOut = { turn, upTo: Math.max(before, ...packs.map(({ pack }) => pack + 1)) };
}

/** Sends what was not sent yet, and notes each one: if another one fails, these are not sent twice. */
async function sendPacks(run: TermRun, { state, packs }: Draft): Promise<void> {
  const { unwritten } = run.sendNotes;
  const sends = packs
    .map((one) => ({ key: sendKey(state, one), message: packMessage(state, one), urgent: one.urgent }))
    .filter(({ key }) => !unwritten.has(key));
  // Sends at the same time arrive in any order, and what waits is judged by the order. So no more are made at once than
  // packs are computed at once, or in a few seconds.
  const expectedMs = expectedPackMs(state);
  const fewer = Math.max(expectedMs / limits.shortPackMs, 1);
  const atOnce = Math.ceil(Math.max(limits.sendsAtOnceMin / fewer, packsAtOnce(state)));
  await sendWork(run, sends, { atOnce, expectedMs, onSent: ({ key }) => void unwritten.add(key) });
}

/**
 * Sends the tasks that this term has recorded and not sent; the state that records them must have been confirmed.
 */
export async function sendTasks(run: TermRun, state: State): Promise<void> {
  const { sendNotes } = run;
  const sends = unsentTasks(state, sendNotes).map((name) => {
    const key = taskKey(state, name);
    return { key, message: taskMessage(state, name), urgent: true };
  });
  await sendWork(run, sends, {
    onSent({ key }) {
      sendNotes.tasksSent.add(key);
      sendNotes.tasksUnwritten += 1;
    },
  });
}

export function assertLegalMove(before: State, next: State): void {
  if (before.phase === next.phase || phaseMoves[before.phase].includes(next.phase)) return;
  throw new InvariantError(
    "illegal-move",
    `run ${next.run} may not move from ${before.phase} to ${next.phase}`,
  );
}

function logSends({ log, leader: { term } }: Term, { packs, state }: Draft): void {
  if (packs.length === 0) return;
  const { run, uid, cursor } = state;
  const again = packs.filter((one) => one.send > 1).length;
  log(logEvents.packsSent({ run, uid, term, packs: packs.length, again, cursor }));
}
