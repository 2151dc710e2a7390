import { limits } from "../model/limits.ts";
import { packsOf } from "../model/packs.ts";
import type { State } from "../model/state.ts";
import type { Draft, Memory, TaskSend } from "./draft.ts";
import { sentAtMs } from "./fanOut.ts";
import { p95, packsAtOnce } from "./pace.ts";
import { unfinishedPacks } from "./track.ts";

/**
 * Sends again what is late. The host hides a dead worker's message for ten minutes; waiting for that would make
 * every crash a ten-minute tail. A duplicate costs compute, never correctness: the first partial wins.
 */

/** Packs whose worker seems dead, and any work that stayed silent longer than the host can hide it. */
export function resendPacks(draft: Draft, memory: Memory, time: { nowMs: number; localMs: number }): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused) return;
  const unfinished = unfinishedPacks(state);
  const sentNow = new Set(draft.packs.map((one) => one.pack));
  const begun = presumedBegun(state, unfinished);
  for (const pack of memory.begunMs.keys()) if (!begun.has(pack)) memory.begunMs.delete(pack);

  const silentMs = limits.hostHidesMs + limits.packLimitMs;
  let duplicates = Object.keys(state.again).length;
  const duplicatesMax = Math.max(
    limits.duplicatesMin,
    limits.duplicatesShare * packsOf(state.layout ?? noLayout),
  );
  for (const pack of unfinished) {
    if (sentNow.has(pack)) continue;
    const again = state.again[pack];
    const lastSentMs = Math.max(again?.atMs ?? 0, sentAtMs(state, pack));
    if (time.nowMs - lastSentMs > silentMs) {
      repeat(draft, pack, time.nowMs, again?.late ?? 0);
      continue;
    }
    if (!begun.has(pack)) continue;
    const sinceMs = memory.begunMs.get(pack);
    if (sinceMs === undefined) {
      memory.begunMs.set(pack, time.localMs);
      continue;
    }
    const late = again?.late ?? 0;
    if (time.localMs - sinceMs <= lateAfterMs(state) || late >= limits.lateSendsMax) continue;
    if (again === undefined && duplicates >= duplicatesMax) continue;
    if (again === undefined) duplicates += 1;
    memory.begunMs.set(pack, time.localMs);
    repeat(draft, pack, time.nowMs, late + 1);
  }
}

/** Every unfinished sent pack, because workers drop what was sent under an earlier turn. */
export function resendAll(draft: Draft, nowMs: number): void {
  for (const pack of unfinishedPacks(draft.state)) {
    repeat(draft, pack, nowMs, draft.state.again[pack]?.late ?? 0, pack < limits.urgentFirstPacks);
  }
}

/** Plan, combine and finish that took longer than three times the longest of their kind. Recorded before sent. */
export function resendTasks(draft: Draft, nowMs: number): void {
  const { state } = draft;
  for (const [name, task] of Object.entries(state.tasks)) {
    const kind = name.startsWith("node/") ? "combine" : name;
    const lateAfter = Math.max(3 * (state.taskMsMax[kind] ?? 0), limits.taskLateMs);
    const silent = nowMs - task.atMs > limits.hostHidesMs + limits.packLimitMs;
    const late = nowMs - task.atMs > lateAfter && task.late < limits.lateSendsMax;
    if (!silent && !late) continue;
    if (draft.tasks.some((one) => nameOf(one) === name)) continue;
    task.sends += 1;
    task.atMs = nowMs;
    task.late += late ? 1 : 0;
    state.sentAgain += 1;
    draft.decided = true;
    draft.tasks.push(taskSend(name, task.sends));
  }
}

/** Every recorded task, as a new leader sends them: the one before may have died between record and send. */
export function recordedTasks(state: State): TaskSend[] {
  return Object.entries(state.tasks).map(([name, task]) => taskSend(name, task.sends));
}

/**
 * The packs that some thread should be working on: those with fewer unfinished packs before them, in send order,
 * than are computed at once. Before the first outcome nothing is known, so all of them.
 */
export function presumedBegun(state: State, unfinished: readonly number[]): Set<number> {
  const atOnce = state.durationsMs.length === 0 ? unfinished.length : packsAtOnce(state);
  return new Set(unfinished.slice(0, atOnce));
}

export const lateAfterMs = (state: State): number =>
  state.durationsMs.length === 0
    ? 3 * (state.layout?.packMs ?? 0) + limits.lateFirstMs
    : Math.max(3 * p95(state.durationsMs), limits.lateMsMin);

function repeat(draft: Draft, pack: number, nowMs: number, late: number, urgent = true): void {
  const { state } = draft;
  const send = (state.again[pack]?.sends ?? 1) + 1;
  state.again[pack] = { sends: send, atMs: nowMs, late };
  state.sentAgain += 1;
  draft.packs.push({ pack, send, urgent });
}

const noLayout = { chunks: 0, packSize: 1, shardSize: 1 };

const nameOf = (task: TaskSend): string =>
  task.kind === "combine" ? `node/${task.level}/${String(task.index).padStart(5, "0")}` : task.kind;

function taskSend(name: string, send: number): TaskSend {
  const node = /^node\/(\d+)\/(\d+)$/.exec(name);
  if (node !== null) return { kind: "combine", level: Number(node[1]), index: Number(node[2]), send };
  return { kind: name === "plan" ? "plan" : "finish", send };
}
