import { emptyBitmap, encodeBitmap } from "../../model/bitmap.ts";
import { packsOf, packsOfShard, shardOf, shardsOf, sizeOf } from "../../model/packs.ts";
import type { Spec } from "../../model/run.ts";
import type { State } from "../../model/state.ts";
import { recountAhead } from "../look/seen.ts";
import { addSend, addTask, type Draft, layoutOf, type Memory, roomToWrite } from "./draft.ts";
import { outcomeOf } from "./track.ts";
import { isUrgent, type Share } from "./window.ts";

/** Has the run planned if it is not. The request is recorded first and sent after. */
export function askForPlan(draft: Draft, spec: Pick<Spec, "code">, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "planning" || "plan" in state.tasks) return;
  // The code that validated the parameters plans them; a retry from the start said itself which code.
  if (state.origin === undefined && spec.code !== undefined) state.code = spec.code;
  addTask(draft, "plan", nowMs);
}

/**
 * Sends the next packs, in order, as far as the window reaches. The cursor passes over what has its outcome, and
 * waits before a shard that must be recounted.
 */
export function fanOut(draft: Draft, memory: Memory, share: Share, nowMs: number): void {
  const { state } = draft;
  if (state.phase !== "computing" || state.paused || state.keep === true) return;
  const layout = layoutOf(state);
  const packs = packsOf(layout);
  const before = state.cursor;
  const outcome = outcomeOf(state);
  const window = Math.min(memory.window, state.cap);
  const hasRoom = () => state.inFlight < window && roomToWrite(draft, memory) > 0;
  while (state.cursor < packs && hasRoom()) {
    const shard = shardOf(layout, state.cursor);
    const { to } = packsOfShard(layout, shard);
    if (shard in state.sealed) {
      state.cursor = to;
      continue;
    }
    if (!(shard in state.open)) openShards(state, shard);
    if (state.open[shard]?.recount) break;
    for (; state.cursor < to && hasRoom(); state.cursor += 1) {
      const pack = state.cursor;
      if (outcome(pack) !== "open") continue;
      const repeat = pack < state.doubtUpTo;
      addSend(draft, memory, { pack, send: state.firstSend, urgent: isUrgent(state, share, pack), repeat });
      state.inFlight += 1;
    }
  }
  if (state.cursor > before) state.batches.push({ upTo: state.cursor, atMs: nowMs });
}

/**
 * In the generation that planned, a pack can have a partial before this leader sends it only where an earlier leader
 * sent it and died before it recorded the send; its message then says that it may be a repeat. In later generations
 * any pack can have one, so shards are listed before their packs are sent.
 */
export function openShards(state: State, shard: number): void {
  const layout = layoutOf(state);
  const first = state.generation === (state.origin ?? 1);
  const to = first ? shard + 1 : Math.min(shard + recountAhead, shardsOf(layout));
  for (let next = shard; next < to; next += 1) {
    if (next in state.open || next in state.sealed) continue;
    const done = encodeBitmap(emptyBitmap(sizeOf(packsOfShard(layout, next))));
    state.open[next] = first ? { done } : { done, recount: true };
  }
}

/** When a sent pack was first sent, or later where its batch was dropped from the record. */
export function sentAtMs(state: State, pack: number): number {
  for (const batch of state.batches) if (pack < batch.upTo) return batch.atMs;
  return 0;
}
