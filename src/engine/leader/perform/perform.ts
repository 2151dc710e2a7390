import { InvariantError } from "../../model/errors.ts";
import { encodeFailure } from "../../model/failureRecord.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { chunksOfPack } from "../../model/packs.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { phaseMoves, type State } from "../../model/state.ts";
import { type Draft, layoutOf } from "../decide/draft.ts";
import { packMessage, taskMessage } from "../decide/messages.ts";
import { packsAtOnce, takenMs } from "../decide/pace.ts";
import { doubtedUpTo, type Sent, sendKey, taskKey, unsentTasks } from "../notes.ts";
import { commit, type Term, type TermRun } from "../term.ts";
import { sendWork } from "./send.ts";

/**
 * Performs a draft in the order that makes a crash harmless: packs are sent first and recorded after (a crash
 * resends them), everything else is recorded first and sent only from a confirmed state (rule *send order*).
 */
export async function perform(run: TermRun, draft: Draft): Promise<"kept" | "written" | "adopted"> {
  const { term, chain, sent } = run;
  const { nowMs, localMs } = draft.at;
  const before = chain.state();
  await writeRecords(term, draft);
  await sendTasks(run, before);
  noteHandedOut(sent, draft);
  // A later leader doubts so many packs after the recorded cursor. Where gaps are far apart, sends go beyond them.
  const beyond = Math.max(before.cursor + limits.sendsPerWriteMax, before.doubtUpTo);
  if (draft.packs.some(({ pack }) => pack >= beyond) && (await writeState(run, run.working)) === "adopted")
    return "adopted";
  await sendPacks(run, draft);
  logSends(term, draft);
  const next: State = { ...draft.state, tasks: withSent(draft.state, sent), updatedMs: nowMs };
  commit(run, { working: next, notes: draft.notes });
  const due = localMs - sent.wroteMs >= limits.progressWriteMs;
  const full = sent.unwritten.size + sent.tasksUnwritten >= limits.sendsPerWriteMax;
  sent.dirty ||=
    draft.noted || next.packsDone !== before.packsDone || sent.unwritten.size > 0 || newlySent(before, next);
  // A write without a reply is repeated until there is one, also when nothing else has happened since.
  if (!draft.decided && !full && !chain.unsettled() && !(sent.dirty && due)) return "kept";
  assertLegalMove(before, next);
  sent.wroteMs = localMs;
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
 * decided again, so `sent` keeps it. What was sent beyond the cursor is doubted, as `sent` loses it.
 */
export async function writeState(run: TermRun, next: State): Promise<"written" | "adopted"> {
  const { chain, sent } = run;
  let outcome: "written" | "adopted";
  try {
    outcome = await chain.write({ ...next, doubtUpTo: doubtedUpTo(next, sent) });
  } finally {
    // What storage definitely refused was not decided either: a later command must not be judged by it.
    if (!chain.unsettled()) commit(run, { working: chain.state() });
  }
  if (outcome === "adopted") return outcome;
  sent.unwritten.clear();
  sent.tasksUnwritten = 0;
  sent.dirty = false;
  return outcome;
}

/** Records sends that nobody else ends, as a worker would: the first record stands. */
async function writeRecords({ storage, names, leader }: Term, { state, records }: Draft): Promise<void> {
  const at = runBlobs(state.run, state.uid);
  const write = async ({ work, send, ...ended }: Draft["records"][number]) => {
    leader.assertLeading();
    const chunks = work.kind === "pack" ? { chunks: chunksOfPack(layoutOf(state), work.pack) } : {};
    const record = encodeFailure({ cause: "poison", attempts: 1, ...ended, ...chunks });
    const name = at.failure(work, state.generation, send);
    await storage.blobs.create(names.runs, name, record.body, { ...record.write, signal: leader.lost });
  };
  await Promise.all(records.map(write));
}

/** Marks each task that was sent in this term as sent, so that the next leader does not send it again. */
const withSent = (state: State, { tasksSent }: Sent): State["tasks"] =>
  Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [
      name,
      tasksSent.has(taskKey(state, name)) ? { ...task, sent: true } : task,
    ]),
  );

const newlySent = (before: State, next: State): boolean =>
  Object.entries(next.tasks).some(([name, task]) => task.sent === true && before.tasks[name]?.sent !== true);

function noteHandedOut(sent: Sent, { state: { turn }, packs }: Draft): void {
  const before = sent.handedOut?.turn === turn ? sent.handedOut.upTo : 0;
  sent.handedOut = { turn, upTo: Math.max(before, ...packs.map(({ pack }) => pack + 1)) };
}

/** Sends what was not sent yet, and notes each one: if another one fails, these are not sent twice. */
async function sendPacks(run: TermRun, { state, packs }: Draft): Promise<void> {
  const { unwritten } = run.sent;
  const sends = packs
    .map((one) => ({ key: sendKey(state, one), message: packMessage(state, one), urgent: one.urgent }))
    .filter(({ key }) => !unwritten.has(key));
  // Sends at the same time arrive in any order, and what waits is judged by the order. So no more are made at once than
  // packs are computed at once, or in a few seconds.
  const expectedMs = takenMs(state);
  const fewer = Math.max(expectedMs / limits.shortPackMs, 1);
  const atOnce = Math.ceil(Math.max(limits.sendsAtOnceMin / fewer, packsAtOnce(state)));
  await sendWork(run, sends, { atOnce, expectedMs, onSent: ({ key }) => void unwritten.add(key) });
}

/**
 * Sends the tasks that this term has recorded and not sent; the state that records them must have been confirmed.
 */
export async function sendTasks(run: TermRun, state: State): Promise<void> {
  const { sent } = run;
  const sends = unsentTasks(state, sent).map((name) => {
    const key = taskKey(state, name);
    return { key, message: taskMessage(state, name), urgent: true };
  });
  await sendWork(run, sends, {
    onSent({ key }) {
      sent.tasksSent.add(key);
      sent.tasksUnwritten += 1;
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
