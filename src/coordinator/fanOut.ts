import { emptyBitmap, encodeBitmap } from "../model/bitmap.ts";
import { limits } from "../model/limits.ts";
import { packsOf, packsOfShard, shardOf, sizeOf } from "../model/packs.ts";
import type { Draft, Memory } from "./draft.ts";
import { layoutOf } from "./draft.ts";
import { windowOf } from "./pace.ts";

/** Has the run planned if it is not. The request is recorded first and sent after. */
export function askForPlan(draft: Draft, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "planning" || "plan" in state.tasks) return;
  state.tasks["plan"] = { sends: 1, atMs: nowMs, late: 0, since: 1 };
  draft.tasks.push({ kind: "plan", send: 1 });
  draft.decided = true;
}

/** Sends the next packs, in order, as far as the window reaches. */
export function fanOut(draft: Draft, memory: Memory, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused) return;
  const layout = layoutOf(state);
  const inFlight = state.cursor - state.packsDone - state.packsFailed;
  const unwritten = draft.packs.length + memory.sendsUnwritten;
  const room = Math.min(windowOf(state, memory) - inFlight, limits.sendsPerWriteMax - unwritten);
  const upTo = Math.min(state.cursor + Math.max(room, 0), packsOf(layout));
  if (upTo === state.cursor) return;
  for (let pack = state.cursor; pack < upTo; pack += 1) {
    draft.packs.push({ pack, send: 1, urgent: pack < limits.urgentFirstPacks });
    const shard = shardOf(layout, pack);
    state.open[shard] ??= { done: encodeBitmap(emptyBitmap(sizeOf(packsOfShard(layout, shard)))) };
  }
  state.cursor = upTo;
  state.batches.push({ upTo, atMs: nowMs });
}

/** When a sent pack was first sent, or later where its batch was dropped from the record. */
export function sentAtMs(state: Draft["state"], pack: number): number {
  for (const batch of state.batches) if (pack < batch.upTo) return batch.atMs;
  return 0;
}
