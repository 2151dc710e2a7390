import { limits } from "../../model/limits.ts";
import { packsOf, shardOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { Sends, State } from "../../model/state.ts";
import type { DecideTime } from "./decide.ts";
import { addSend, type Draft, layoutOf, type Memory, nodeOf, resendTask, roomToWrite } from "./draft.ts";
import { sentAtMs } from "./fanOut.ts";
import { outOfOrderMs, p95, packsAtOnce, stragglerAfterMs } from "./pace.ts";
import { unfinishedPacks } from "./track.ts";

/**
 * Resends stragglers and silent work. The host hides a dead worker's message for ten minutes; waiting for that would
 * make every crash a ten-minute tail. A duplicate costs compute, never correctness: the first partial wins.
 *
 * All times are storage's and are in the state, so that a new leader knows at once what the one before knew. Time
 * counts from when a pack is presumed begun, never while it only waits in the queue. A resend takes nothing away from
 * the sends before it: their partial and their records still count.
 */

/** Packs whose worker seems dead, and any of which nothing was heard for longer than the host can hide them. */
export function resendPacks(draft: Draft, memory: Memory, time: DecideTime, queued?: number): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const unfinished = unfinishedPacks(state);
  // Fewer messages than packs in flight: some were lost, and nobody can say which.
  const lost = queued !== undefined && queued < unfinished.length;
  const silentMs = silentAfterMs(time) + outOfOrderMs(state);
  if (lost) presumeBegun(state, state.cursor, time.nowMs - silentMs - 1);
  else trackBegun(state, unfinished, time.nowMs);
  const sentNow = new Set(draft.packs.map((one) => one.pack));
  const duplicatesMax = Math.max(limits.duplicatesMin, limits.duplicatesShare * packsOf(layoutOf(state)));
  let duplicates = Object.values(state.again).filter(({ late }) => late > 0).length;
  const lateMs = Math.min(stragglerAfterMs(state, time.limitMs), silentMs);
  // Once every sent pack is presumed begun, no message waits and none can be passed any more.
  const lastBegunMs = begunAtMs(state, unfinished.at(-1) ?? 0);

  for (const pack of unfinished) {
    if (roomToWrite(draft, memory) <= 0) return;
    if (sentNow.has(pack)) continue;
    const again = state.again[pack];
    const begunMs = begunAtMs(state, pack);
    if (begunMs === undefined) continue;
    const sinceMs = Math.max(begunMs, again?.atMs ?? 0);
    if (time.nowMs - sinceMs > silentMs) {
      resendPack(draft, memory, pack, time.nowMs, { silent: true });
      continue;
    }
    const late = again?.late ?? 0;
    const passedMs = Math.min(outOfOrderMs(state), Math.max((lastBegunMs ?? time.nowMs) - begunMs, 0));
    const lateAtMs = Math.max(begunMs + passedMs, again?.atMs ?? 0) + lateMs;
    const name = workName({ kind: "pack", shard: shardOf(layoutOf(state), pack), pack });
    if (late >= lateSendsMax(memory, name)) continue;
    if (time.nowMs <= lateAtMs) {
      if (lastBegunMs !== undefined)
        memory.stragglerInMs = Math.min(memory.stragglerInMs, lateAtMs - time.nowMs);
      continue;
    }
    // Its worker lives: it said that an attempt threw, and others are to come.
    if ((memory.tried.get(name) ?? 0) >= sendsOf(state, pack).since) continue;
    if (late === 0 && duplicates >= duplicatesMax) continue;
    // As of the last list of failures: it may have said so since.
    if (memory.failuresAtMs <= lateAtMs) {
      memory.wantsFailures = true;
      continue;
    }
    duplicates += 1;
    resendPack(draft, memory, pack, time.nowMs, { straggler: true });
  }
}

/** Plan, combine and finish whose worker seems dead. Recorded before sent. */
export function resendTasks(draft: Draft, memory: Memory, time: DecideTime): void {
  const { state } = draft;
  // A thread has to become free before a task begins.
  const waitMs = state.inFlight > 0 ? Math.max(p95(state.durationsMs), state.layout?.packMs ?? 0) : 0;
  for (const [name, task] of Object.entries(state.tasks)) {
    const kind = nodeOf(name) === undefined ? name : "combine";
    const sinceMs = Math.max(task.atMs, memory.aliveMs.get(name) ?? 0);
    const lateMs =
      Math.max(limits.stragglerFactor * (state.taskMsMax[kind] ?? 0), limits.taskLateMs) + waitMs;
    const silent = time.nowMs - sinceMs > silentAfterMs(time) + waitMs;
    const tried = (memory.tried.get(name) ?? 0) >= task.since;
    const late = time.nowMs - sinceMs > lateMs && task.late < lateSendsMax(memory, name) && !tried;
    if (!silent && !late) continue;
    // As of the last list of failures: it may have said since that it works or failed.
    if (!silent && memory.failuresAtMs - sinceMs <= lateMs) {
      memory.wantsFailures = true;
      continue;
    }
    resendTask(draft, task, time.nowMs);
    if (silent) task.since = task.sends;
    else task.late += 1;
    state.sentAgain += 1;
  }
}

/**
 * How often work is resent as a straggler. An attempt that began may have ended its process, so no other one is risked
 * before the host tells. A resend without the note of an attempt did no harm: its message lies hidden with an instance
 * that died before it came to it.
 */
const lateSendsMax = (memory: Memory, name: string): number =>
  memory.aliveMs.has(name) ? limits.lateSendsMax : limits.lateSendsUnbegunMax;

/** The packs presumed to run at once, over those that the rate tells of. */
const rateSlack = 1.15;

/**
 * Moves on to which pack work is presumed begun: as many unfinished packs as run at once, in send order. A begun pack
 * stays begun, also when the rate falls because workers died. Until the first outcome nobody knows how many run at
 * once, and every pack counts from its send.
 */
function trackBegun(state: State, unfinished: readonly number[], nowMs: number): void {
  if (state.durationsMs.length === 0) return;
  // The rate falls a little between waves of packs that end together.
  const atOnce = Math.round(packsAtOnce(state) * rateSlack);
  const last = unfinished[Math.min(atOnce, unfinished.length) - 1];
  if (last !== undefined) presumeBegun(state, last + 1, nowMs);
}

function presumeBegun(state: State, upTo: number, atMs: number): void {
  if (upTo > (state.begun.at(-1)?.upTo ?? 0)) state.begun.push({ upTo, atMs });
}

/** When a sent pack is presumed begun; undefined while others are before it. */
function begunAtMs(state: State, pack: number): number | undefined {
  const sentMs = sentAtMs(state, pack);
  const begun = state.begun.find(({ upTo }) => pack < upTo);
  if (begun !== undefined) return Math.max(begun.atMs, sentMs);
  return state.durationsMs.length === 0 ? sentMs : undefined;
}

/**
 * Longer than a send can be silent after it has begun: its limit, or the time for which the host hides the message of a
 * worker that died, and then the retries of the worker that tells.
 */
export const silentAfterMs = ({ limitMs }: Pick<DecideTime, "limitMs">): number =>
  limits.hostHidesMs + limitMs + limits.endRetryMs;

/** What is known of the sends of a pack that the cursor has passed. */
export const sendsOf = (state: State, pack: number): Sends =>
  state.again[pack] ?? { sends: state.firstSend, atMs: 0, late: 0, since: state.firstSend };

/** Resends a pack. `silent`: no record of the sends before is waited for; one that comes still counts. */
export function resendPack(
  draft: Draft,
  memory: Memory,
  pack: number,
  nowMs: number,
  why: { readonly silent?: true; readonly straggler?: true; readonly alone?: boolean },
): void {
  const { state } = draft;
  const before = sendsOf(state, pack);
  const send = before.sends + 1;
  const alone = before.alone === true || why.alone === true;
  state.again[pack] = {
    sends: send,
    atMs: nowMs,
    late: before.late + (why.straggler === true ? 1 : 0),
    since: why.silent === true ? send : before.since,
    ...(alone ? { alone } : {}),
  };
  state.sentAgain += 1;
  addSend(draft, memory, { pack, send, urgent: true, repeat: true, alone });
}
