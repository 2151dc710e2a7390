import { limits } from "../../model/limits.ts";
import { packsOf, shardOf } from "../../model/packs.ts";
import { parseWorkName, type Work, workName } from "../../model/runBlobs.ts";
import type { Sends } from "../../model/state.ts";
import { type Lists, taskKey, unsentTasks } from "../notes.ts";
import { type Observed, type Seen, type SeenSign, workKey } from "../seen.ts";
import { type Draft, layoutOf, resendTask, roomToWrite, type SendRecord, sendsOf } from "./draft.ts";
import { lostAfterMs, slowAfterMs, stuckAfterMs, taskLostAfterMs } from "./pace.ts";
import { takenAtMs, takenUpTo, trackTaken, trackTakenAgain } from "./taken.ts";
import { unfinishedPacks } from "./track.ts";
import { isBehind, isFromBefore, isHidden, waitOf } from "./waits.ts";
import { resendLost } from "./wasted.ts";

/**
 * What becomes of the work in flight, by what was observed (docs/ARCHITECTURE.md, rule 18). The host hides a dead worker's
 * message for ten minutes; waiting for that would make every crash a ten-minute tail. A duplicate costs compute, never
 * correctness: the first partial wins. A resend takes nothing away from the sends before it: their outputs and records count.
 *
 * Not promised: that work which seems lost is. It may only have been late to say that it lives.
 */
export function judgeInFlight(draft: Draft, { shards, lists }: Pick<Seen, "shards" | "lists">): void {
  const { state, notes, at } = draft;
  const { observed } = at;
  if (observed !== undefined) trackTaken(state, observed, at.nowMs);
  // What was sent since the queues were read is in one of them.
  notes.drained = state.inFlight > 0 && takenUpTo(state) >= state.cursor;
  if (observed === undefined) return;
  // They are listed in each poll until the next judgement.
  notes.wantsFailures = false;
  if (observed.computing.has(state.uid)) notes.computedMs = observed.nowMs;
  const isRecent = ([, atMs]: readonly [string, number]) => observed.nowMs - atMs <= stuckAfterMs(at);
  const seenMs = new Map([...notes.seenMs].filter(isRecent));
  const judging = { draft, lists, observed, seenMs };
  judgePacks(judging, shards);
  judgeTasks(judging);
  notes.seenMs = seenMs;
}

interface Judging {
  readonly draft: Draft;
  readonly lists: Lists;
  readonly observed: Observed;
  /** When work was last seen in a queue or in a live sign. */
  readonly seenMs: Map<string, number>;
}

/** A piece of work in flight. */
interface InFlight {
  readonly work: Work;
  readonly sends: Sends;
  /** Since when its latest message is in no queue any more; undefined while it may be. */
  readonly takenMs: number | undefined;
  readonly lostAfterMs: number;
  readonly slowAfterMs: number;
}

/** What is observed of a piece of work, in the order of the table of rule 18. */
type Finding =
  /** A process that lives has it. */
  | { readonly kind: "held" }
  /** Such a process computes it for long. */
  | { readonly kind: "slow" }
  /** Its message is among the first of a queue. */
  | { readonly kind: "waiting" }
  /** Its process tells nothing any more. */
  | { readonly kind: "died"; readonly sign: SeenSign }
  /** Its message may be hidden, or in a queue behind those that are shown, or its node be there. */
  | { readonly kind: "open" }
  /** It was taken, nobody has it, and it counts as lost after so long. */
  | { readonly kind: "taken"; readonly lostInMs: number }
  /** The same, and that time is over. */
  | { readonly kind: "lost" }
  /** It would have died or be lost, but its record may have been written since they were listed. */
  | { readonly kind: "unlisted" };

/** A shard that was not listed in this poll may have more partials by now. */
function judgePacks(judging: Judging, listed: Seen["shards"]): void {
  const { draft } = judging;
  const { state, at } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const layout = layoutOf(state);
  const unfinished = unfinishedPacks(state);
  const taken = takenUpTo(state);
  const sentNow = new Set(draft.packs.map(({ pack }) => pack));
  const after = { lostAfterMs: lostAfterMs(state), slowAfterMs: slowAfterMs(state) };
  const last = state.cursor >= packsOf(layout) && unfinished.length <= limits.lastPacks;
  const signed = packsSigned(judging);
  for (const pack of unfinished) {
    // The first send of a pack that no sign tells of is behind what the queues show.
    const waits = pack >= taken && !(pack in state.again) && !signed.has(pack);
    if (waits || sentNow.has(pack)) continue;
    if (roomToWrite(draft) <= 0) return;
    const shard = shardOf(layout, pack);
    if (!listed.has(shard)) continue;
    const sends = sendsOf(state, pack);
    const work: Work = { kind: "pack", shard, pack };
    const again = state.again[pack];
    if (again !== undefined)
      trackTakenAgain(again, { state, name: workName(work), observed: judging.observed, nowMs: at.nowMs });
    const takenMs = again === undefined ? takenAtMs(state, pack) : again.takenMs;
    const finding = judge(judging, { work, sends, takenMs, ...after });
    if (finding === undefined) continue;
    // A worker that only is slow is doubled at the very end of a run, once.
    if (finding.kind === "slow") {
      if (last && sends.sends === sends.since && sends.alone !== true)
        resendLost(draft, pack, { waits: true });
    } else if (!isRecorded(draft, { work, sends }, finding))
      resendLost(draft, pack, { alone: diedWith(finding), lost: !diedWith(finding) });
  }
}

/** Packs of the run of which any process tells: messages are not taken in the order of their packs. */
function packsSigned({ draft, observed }: Judging): ReadonlySet<number> {
  const { uid } = draft.state;
  const signs = [...observed.signs.values()].flat();
  return new Set(
    signs.flatMap((sign) => (sign.uid === uid && sign.work.kind === "pack" ? sign.work.pack : [])),
  );
}

function judgeTasks(judging: Judging): void {
  const { draft } = judging;
  const { state, sent, at } = draft;
  const unsent = new Set(unsentTasks(state, sent));
  for (const [name, task] of Object.entries(state.tasks)) {
    if (unsent.has(name)) continue;
    if (roomToWrite(draft) <= 0) return;
    trackTakenAgain(task, { state, name, observed: judging.observed, nowMs: at.nowMs });
    const work = parseWorkName(name);
    if (work === undefined) continue;
    const kind = work.kind === "node" ? "combine" : work.kind;
    // What an earlier leader may have sent is resent as soon as nobody is seen to have it.
    const doubtful = task.sent !== true && sent.doubtful.has(taskKey(state, name));
    const lostAfterMs = doubtful ? 0 : taskLostAfterMs(state, kind);
    const after = { lostAfterMs, slowAfterMs: Number.POSITIVE_INFINITY };
    const finding = judge(judging, { work, sends: task, takenMs: task.takenMs, ...after });
    if (finding === undefined || finding.kind === "slow") continue;
    if (isRecorded(draft, { work, sends: task }, finding)) continue;
    if (diedWith(finding)) task.alone = true;
    else task.lost += 1;
    resendTask(draft, task);
    draft.unsent += 1;
    task.since = task.sends;
    state.sentAgain += 1;
  }
}

/** A thread had taken the work when its process died. */
const diedWith = (finding: Finding): boolean => finding.kind === "died" && finding.sign.begun;

/** The finding if the work is slow, has died or is lost; of any other the notes keep what later judgements need. */
function judge(
  judging: Judging,
  one: InFlight,
): Extract<Finding, { kind: "slow" | "died" | "lost" }> | undefined {
  const { draft, observed, seenMs } = judging;
  const { notes } = draft;
  const finding = findingOf(judging, one);
  switch (finding.kind) {
    case "held":
    case "slow":
    case "waiting":
      seenMs.set(workName(one.work), observed.nowMs);
      return finding.kind === "slow" ? finding : undefined;
    case "taken":
      // While packs wait, nobody waits for this one.
      if (notes.drained) notes.lostInMs = Math.min(notes.lostInMs, finding.lostInMs);
      return undefined;
    case "unlisted":
      notes.wantsFailures = true;
      return undefined;
    case "open":
      return undefined;
    default:
      return finding;
  }
}
function findingOf({ draft, lists, observed, seenMs }: Judging, one: InFlight): Finding {
  const { state, at } = draft;
  const { work, sends, takenMs, slowAfterMs } = one;
  const key = workKey(state, workName(work));
  const signs = observed.signs.get(key) ?? [];
  const live = signs.find((sign) => sign.live && sign.ageMs + sign.silentMs <= stuckAfterMs(at));
  if (live !== undefined)
    return { kind: live.begun && live.fresh && live.ageMs > slowAfterMs ? "slow" : "held" };

  const waits = observed.packs.waiting.has(key) || observed.urgent.waiting.has(key);
  if (waits) return { kind: "waiting" };
  const wait = waitOf(draft.notes, workName(work), sends);
  if (isHidden(wait, observed)) return { kind: "open" };
  const ended = signs.filter((one) => !one.live && one.send === sends.sends);
  const sign = ended.find((one) => !isFromBefore(one, wait, observed));
  if (sign !== undefined) {
    // Three deaths alone fail the work, so each must be more than a late sign.
    const late = sign.alone && sign.begun && sign.ended === undefined && sign.silentMs <= limits.deathAloneMs;
    if (late) return { kind: "held" };
    const saidMs = observed.nowMs - Math.min(sign.silentMs, limits.lostMsMin);
    return ifListed({ kind: "died", sign }, lists, work, saidMs);
  }

  if (takenMs === undefined || isBehind(wait, observed)) return { kind: "open" };
  const sinceMs = Math.max(takenMs, sends.atMs, seenMs.get(workName(work)) ?? 0, wait?.untilMs ?? 0);
  const dueMs = sinceMs + one.lostAfterMs * 2 ** Math.min(sends.lost, limits.lostDoublings);
  if (observed.nowMs <= dueMs) return { kind: "taken", lostInMs: dueMs - observed.nowMs };
  return ifListed({ kind: "lost" }, lists, work, dueMs);
}

/** The finding, if records, and nodes where it is one, were listed after a time: the work may have ended since they were before. */
function ifListed(finding: Finding, lists: Lists, work: Work, afterMs: number): Finding {
  // Nodes are polled every few seconds anyway.
  if (work.kind === "node" && lists.nodesAtMs <= afterMs) return { kind: "open" };
  return lists.failuresAtMs > afterMs ? finding : { kind: "unlisted" };
}

/**
 * Writes the record of a send that ended with its process while it was alone there, or that was lost too often; records alone
 * decide what follows (rule 7). Any other loss has none, and the work is resent.
 */
function isRecorded(
  draft: Draft,
  { work, sends }: Pick<InFlight, "work" | "sends">,
  finding: Finding,
): boolean {
  const record = (send: number, code: string, message: string, about: Partial<SendRecord> = {}): boolean => {
    draft.records.push({ work, send, code, message, final: undefined, ...about });
    draft.notes.wantsFailures = true;
    return true;
  };
  if (finding.kind === "died" && finding.sign.begun && finding.sign.alone) {
    const { instance, ended, silentMs, send } = finding.sign;
    const how = ended ?? `no sign of life for ${Math.round(silentMs / 1_000)} s`;
    return record(
      send,
      "process-ended",
      `the process of ${instance} ended while it computed this alone: ${how}`,
    );
  }
  if (sends.lost + 1 < limits.lostMax || diedWith(finding)) return false;
  return record(sends.sends, "lost", `lost ${limits.lostMax} times before any process said that it began`, {
    final: true,
  });
}
