import { limits } from "../model/limits.ts";
import { workName } from "../model/names.ts";
import { packsOf, shardOf } from "../model/packs.ts";
import type { Sends, State } from "../model/state.ts";
import type { DecideTime } from "./decide.ts";
import { addSend, type Draft, layoutOf, type Memory, nodeOf, roomToWrite, type TaskSend } from "./draft.ts";
import { sentAtMs } from "./fanOut.ts";
import { lateAfterMs, packsAtOnce } from "./pace.ts";
import { unfinishedPacks } from "./track.ts";

/**
 * Sends again what is late. The host hides a dead worker's message for ten minutes; waiting for that would make
 * every crash a ten-minute tail. A duplicate costs compute, never correctness: the first partial wins.
 */

/** Packs whose worker seems dead, and any that stayed silent longer than the host can hide them. */
export function resendPacks(draft: Draft, memory: Memory, time: DecideTime): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused) return;
  const unfinished = unfinishedPacks(state);
  watchBegun(state, memory, unfinished, time.localMs);
  const sentNow = new Set(draft.packs.map((one) => one.pack));
  const duplicatesMax = Math.max(limits.duplicatesMin, limits.duplicatesShare * packsOf(layoutOf(state)));
  let duplicates = Object.keys(state.again).length;
  const lateMs = lateAfterMs(state);

  for (const pack of unfinished) {
    if (roomToWrite(draft, memory) <= 0) return;
    if (sentNow.has(pack)) continue;
    const again = state.again[pack];
    const lastSentMs = again?.atMs || sentAtMs(state, pack);
    if (time.nowMs - lastSentMs > silentMs(time)) {
      repeat(draft, memory, pack, time.nowMs, { late: again?.late ?? 0, anew: true });
      continue;
    }
    const begunMs = memory.begunMs.get(pack);
    const late = again?.late ?? 0;
    // Its worker lives: it said that the first attempt threw, and the host has others to come.
    const place = { kind: "pack", shard: shardOf(layoutOf(state), pack), pack } as const;
    if ((memory.tried.get(workName(place)) ?? 0) >= sendsOf(state, pack).since) continue;
    // As of the last look for failures: it may have said so since.
    if (begunMs === undefined || memory.failuresMs - begunMs <= lateMs) continue;
    if (late >= limits.lateSendsMax || (again === undefined && duplicates >= duplicatesMax)) continue;
    if (again === undefined) duplicates += 1;
    memory.begunMs.set(pack, time.localMs);
    repeat(draft, memory, pack, time.nowMs, { late: late + 1 });
  }
}

/** Plan, combine and finish that took longer than three times the longest of their kind. Recorded before sent. */
export function resendTasks(draft: Draft, memory: Memory, time: DecideTime): void {
  const { state } = draft;
  for (const [name, task] of Object.entries(state.tasks)) {
    const kind = nodeOf(name) === undefined ? name : "combine";
    const sinceMs = time.nowMs - task.atMs;
    const silent = sinceMs > silentMs(time);
    const lateAfter = Math.max(3 * (state.taskMsMax[kind] ?? 0), limits.taskLateMs);
    const waits = (memory.tried.get(name) ?? 0) >= task.since;
    const late = sinceMs > lateAfter && task.late < limits.lateSendsMax && !waits;
    if (!silent && !late) continue;
    task.sends += 1;
    task.atMs = time.nowMs;
    task.late += late ? 1 : 0;
    if (silent) task.since = task.sends;
    state.sentAgain += 1;
    draft.decided = true;
    draft.tasks.push(taskSend(name, task.sends));
  }
}

/** Every recorded task, as a new leader sends them: the one before may have died between record and send. */
export const recordedTasks = (state: State): TaskSend[] =>
  Object.entries(state.tasks).map(([name, task]) => taskSend(name, task.sends));

/**
 * Notes when a pack is first presumed begun, which is when fewer unfinished packs precede it in send order than
 * run at once. From then on its time runs until it has an outcome, also when the rate falls because workers died.
 * Before the first outcome nobody knows how many run at once, so all packs count, and anew after it.
 */
function watchBegun(state: State, memory: Memory, unfinished: readonly number[], localMs: number): void {
  const guessed = state.durationsMs.length === 0;
  if (memory.guessed && !guessed) memory.begunMs.clear();
  memory.guessed = guessed;
  const open = new Set(unfinished);
  for (const pack of memory.begunMs.keys()) if (!open.has(pack)) memory.begunMs.delete(pack);
  const atOnce = guessed ? unfinished.length : packsAtOnce(state);
  for (const pack of unfinished.slice(0, atOnce)) {
    if (!memory.begunMs.has(pack)) memory.begunMs.set(pack, localMs);
  }
}

/** Longer than the host can hide a message that a worker still works on. */
const silentMs = (time: DecideTime): number => limits.hostHidesMs + time.packLimitMs;

/** What is known of the sends of a pack that the cursor has passed. */
export const sendsOf = (state: State, pack: number): Sends =>
  state.again[pack] ?? { sends: state.firstSend, atMs: 0, late: 0, since: state.firstSend };

/** `anew`: the sends before will never end in a record, so only this one and later ones count. */
function repeat(
  draft: Draft,
  memory: Memory,
  pack: number,
  nowMs: number,
  how: { readonly late: number; readonly anew?: boolean },
): void {
  const { state } = draft;
  const before = sendsOf(state, pack);
  const send = before.sends + 1;
  const since = how.anew === true ? send : before.since;
  state.again[pack] = { sends: send, atMs: nowMs, late: how.late, since };
  state.sentAgain += 1;
  addSend(draft, memory, { pack, send, urgent: true });
}

function taskSend(name: string, send: number): TaskSend {
  const node = nodeOf(name);
  if (node !== undefined) return { kind: "combine", ...node, send };
  return { kind: name === "plan" ? "plan" : "finish", send };
}
