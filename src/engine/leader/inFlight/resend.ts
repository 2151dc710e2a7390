import { limits } from "../../model/limits.ts";
import { packsOf, shardOf } from "../../model/packs.ts";
import { parseWorkName, type Work, workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import { addSend, type Draft, layoutOf, type PackSend, roomToWrite, sendsOf } from "../decide/draft.ts";
import { affordsResend } from "../decide/maxCost.ts";
import { unfinishedPacks } from "../decide/track.ts";
import { addEnded, addLost } from "../decide/wasted.ts";
import { taskKey, unsentTasks } from "../notes.ts";
import type { Observed, Seen, SeenFailure } from "../seen.ts";
import {
  type Doing,
  type Judgement,
  judge,
  lostAfterMs,
  type Observing,
  type Piece,
  seeWork,
  slowAfterMs,
  stuckAfterMs,
  taskLostAfterMs,
  type WorkSeen,
} from "./judge.ts";
import { takenAtMs, takenUpTo, trackMessageTaken, trackPacksTaken } from "./taken.ts";

/** Judges each piece of work in flight by what was observed in this loop, and resends what the judgement says (README.md). */
export function judgeInFlight(draft: Draft, { shards, lists }: Pick<Seen, "shards" | "lists">): void {
  const { state, notes, at } = draft;
  const { observed } = at;
  if (observed !== undefined) trackPacksTaken(state, observed, at.nowMs);
  // What was sent since the queues were read is in one of them.
  notes.drained = state.inFlight > 0 && takenUpTo(state) >= state.cursor;
  if (observed === undefined) return;
  // They are listed in each poll until the next judgement.
  notes.listFailures = false;
  notes.readPoison = false;
  if (observed.computing.has(state.uid)) notes.computedMs = observed.nowMs;
  const isRecent = ([, atMs]: readonly [string, number]) => observed.nowMs - atMs <= stuckAfterMs(at);
  const seenMs = new Map([...notes.seenMs].filter(isRecent));
  const judging = { draft, observed, lists, seenMs };
  judgePacks(judging, shards);
  judgeTasks(judging);
  notes.seenMs = seenMs;
}

interface Judging extends Observing {
  readonly draft: Draft;
  readonly seenMs: Map<string, number>;
}

/** A shard that was not listed in this poll may have more partials by now. */
function judgePacks(judging: Judging, listed: Seen["shards"]): void {
  const { draft, observed } = judging;
  const { state, at } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const layout = layoutOf(state);
  const unfinished = unfinishedPacks(state);
  const taken = takenUpTo(state);
  const sentNow = new Set(draft.packs.map(({ pack }) => pack));
  const last = state.cursor >= packsOf(layout) && unfinished.length <= limits.lastPacks;
  const kind = { lostAfterMs: lostAfterMs(state), slowAfterMs: slowAfterMs(state), last };
  const inHeartbeats = packsInHeartbeats(state, observed);
  for (const pack of unfinished) {
    // The first send of a pack that no heartbeat tells of is behind what the queues show.
    const isQueued = pack >= taken && !(pack in state.resent) && !inHeartbeats.has(pack);
    if (isQueued || sentNow.has(pack)) continue;
    if (roomToWrite(draft) <= 0) return;
    const shard = shardOf(layout, pack);
    if (!listed.has(shard)) continue;
    const work: Work = { kind: "pack", shard, pack };
    const own = state.resent[pack];
    if (own !== undefined) trackMessageTaken(own, { state, name: workName(work), observed, nowMs: at.nowMs });
    const takenMs = own === undefined ? takenAtMs(state, pack) : own.takenMs;
    follow(judging, { work, sends: sendsOf(state, pack), takenMs, ...kind }, (judgement) => {
      if (!affordsResend(draft)) return;
      resendPack(draft, pack, {
        copy: judgement.do === "copy",
        isolated: judgement.do === "resend isolated",
        lost: judgement.loss,
      });
      addLost(draft);
    });
  }
}

/** Packs of the run of which any process tells: messages are not taken in the order of their packs. */
function packsInHeartbeats({ uid }: State, { heartbeats }: Observed): ReadonlySet<number> {
  const told = [...heartbeats.values()].flat();
  return new Set(
    told.flatMap((heartbeat) =>
      heartbeat.uid === uid && heartbeat.work.kind === "pack" ? heartbeat.work.pack : [],
    ),
  );
}

function judgeTasks(judging: Judging): void {
  const { draft, observed } = judging;
  const { state, sendNotes, at } = draft;
  const unsent = new Set(unsentTasks(state, sendNotes));
  for (const [name, task] of Object.entries(state.tasks)) {
    const work = parseWorkName(name);
    if (work === undefined || unsent.has(name)) continue;
    if (roomToWrite(draft) <= 0) return;
    trackMessageTaken(task, { state, name, observed, nowMs: at.nowMs });
    // What an earlier leader may have sent is lost as soon as nobody is seen to have it.
    const possiblySent = task.enqueued !== true && sendNotes.possiblySent.has(taskKey(state, name));
    const lostAfterMs = possiblySent
      ? 0
      : taskLostAfterMs(state, work.kind === "node" ? "combine" : work.kind);
    const kind = { lostAfterMs, slowAfterMs: Number.POSITIVE_INFINITY, last: false };
    follow(judging, { work, sends: task, takenMs: task.takenMs, ...kind }, (judgement) => {
      if (judgement.do === "resend isolated") task.isolated = true;
      if (judgement.loss) task.losses += 1;
      resendTask(draft, task);
      draft.unsent += 1;
      task.awaitedFrom = task.send;
      state.resends += 1;
    });
  }
}

/** Does what the judgement of a piece of work says; a resend by `resend`. */
function follow(judging: Judging, piece: Piece, resend: (judgement: Judgement) => void): void {
  const { draft, seenMs } = judging;
  const { notes } = draft;
  const seen = seeWork(draft, judging, piece);
  const judgement = judge(seen);
  // Also of what cannot be resent within the max cost of its run, which then rests.
  const isAwaited = judgement.is === "not due";
  if (isAwaited || resends.has(judgement.do)) keepTaken(draft, seen);
  // While packs wait, nobody waits for one that was taken.
  if (isAwaited && notes.drained) notes.lostInMs = Math.min(notes.lostInMs, seen.lostInMs);
  if (judgement.is === "not read" || (isAwaited && seen.isHalfWay && !seen.isPoisonRead))
    notes.readPoison = true;
  if (seen.live !== undefined || judgement.do === "wait, seen") seenMs.set(workName(piece.work), seen.nowMs);
  if (judgement.do === "record") draft.records.push(recordOf(seen));
  if (judgement.do === "record" || judgement.do === "list outcomes") notes.listFailures = true;
  if (resends.has(judgement.do)) resend(judgement);
}

/** Worth a write of its own: leaders that die one after the other would each count from their own first look. */
function keepTaken(draft: Draft, { nowMs, takenMs = 0 }: WorkSeen): void {
  const { notes } = draft;
  if (takenMs <= notes.takenKeptMs || nowMs - takenMs < limits.progressWriteMs) return;
  notes.takenKeptMs = takenMs;
  draft.noted = true;
}

const resends: ReadonlySet<Doing> = new Set(["copy", "resend", "resend isolated"] as const);

/** The record of a send that ended with its process while it was isolated, or that was lost too often (rules *isolation* and *judgement*). */
function recordOf({ work, sends, silent }: WorkSeen): Draft["records"][number] {
  if (silent?.begun === true) {
    const { instance, ended, silentMs, send } = silent;
    const how = ended ?? `no heartbeat for ${Math.round(silentMs / 1_000)} s`;
    const message = `the process of ${instance} ended while it computed nothing else: ${how}`;
    return { work, send, code: "process-ended", message, final: undefined };
  }
  const message = `lost ${limits.lostMax} times before any process said that it began`;
  return { work, send: sends.send, code: "lost", message, final: true };
}

/** Resends a pack whose sends have ended, as `verdictOf` allows. */
export function resendEnded(
  draft: Draft,
  pack: number,
  records: readonly SeenFailure[],
  { isolated, excluded }: Pick<PackSend, "isolated" | "excluded">,
): void {
  const { state } = draft;
  const made = sendsOf(state, pack);
  addEnded(draft, records, made.awaitedFrom);
  state.resent[pack] = { ...made, send: lastSend(made, records) };
  resendPack(draft, pack, { isolated, excluded });
}

/** Resends a task whose sends have ended. It waits for the records of those before as well. */
export function resendEndedTask(
  draft: Draft,
  task: Sends,
  records: readonly SeenFailure[],
  { isolated }: Pick<PackSend, "isolated">,
): void {
  if (isolated) task.isolated = true;
  task.send = lastSend(task, records);
  resendTask(draft, task);
}

function resendTask(draft: Draft, task: Sends): void {
  task.send += 1;
  task.sentMs = draft.at.nowMs;
  delete task.takenMs;
  delete task.enqueued;
  draft.decided = true;
}

/** A record may be of a send that the state does not know, when its leader died between send and write. */
export const lastSend = ({ send }: Sends, records: readonly SeenFailure[]): number =>
  Math.max(send, ...records.map((record) => record.send));

/** Resends a pack. No record of the sends before is waited for, unless it is a `copy` beside them; one that comes still counts. */
function resendPack(
  draft: Draft,
  pack: number,
  why: Pick<PackSend, "isolated" | "excluded"> & {
    readonly copy?: boolean;
    readonly lost?: boolean | undefined;
  },
): void {
  const { state, at } = draft;
  const before = sendsOf(state, pack);
  const send = before.send + 1;
  const isolated = before.isolated === true || why.isolated === true;
  state.resent[pack] = {
    send,
    sentMs: at.nowMs,
    awaitedFrom: why.copy === true ? before.awaitedFrom : send,
    losses: before.losses + (why.lost === true ? 1 : 0),
    ...(isolated && { isolated }),
  };
  state.resends += 1;
  // It may end this very process within a second: an unrecorded one would be sent by each leader after it, and never counted.
  draft.decided = true;
  addSend(draft, { pack, send, urgent: true, repeat: true, isolated, excluded: why.excluded });
}
