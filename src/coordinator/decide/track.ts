import {
  clearBit,
  countBits,
  decodeBitmap,
  emptyBitmap,
  encodeBitmap,
  hasBit,
  setBit,
} from "../../model/bitmap.ts";
import { addCalls, decodeCalls } from "../../model/calls.ts";
import { accepts } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { parseOutputFacts } from "../../model/output.ts";
import { packsOf, packsOfShard, shardOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import type { Seen, SeenOutput } from "../look/seen.ts";
import { type Draft, layoutOf } from "./draft.ts";

/** Takes over the plan once a worker has written it: from here the run computes. */
export function trackPlan(draft: Draft, { plan }: Pick<Seen, "plan">): void {
  const { state } = draft;
  if (state.phase !== "planning" || plan === undefined) return;
  const { chunks, packSize, shardSize, fanIn, packMs, code } = plan;
  if (code === undefined) delete state.code;
  else state.code = code;
  state.layout = { chunks, packSize, shardSize, fanIn, packMs };
  state.phase = "computing";
  state.calls = addCalls(state.calls, decodeCalls(plan.calls));
  delete state.tasks["plan"];
  draft.decided = true;
}

/**
 * Marks listed partials in the bitmaps of their open shards. Success beats an earlier failure. A shard to be
 * recounted takes exactly what its list holds. A partial of other code counts as missing.
 */
export function trackParts(draft: Draft, { parts, shards }: Pick<Seen, "parts" | "shards">): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  const found = byShard(parts, (pack) => shardOf(layout, pack));
  for (const shard of shards) {
    const open = state.open[shard];
    if (open === undefined) continue;
    const packs = packsOfShard(layout, shard);
    const size = sizeOf(packs);
    const recount = open.recount === true;
    const done = recount ? emptyBitmap(size) : decodeBitmap(open.done, size);
    const failed = open.failed === undefined ? undefined : decodeBitmap(open.failed, size);
    for (const { index, contentType } of found.get(shard) ?? []) {
      const facts = parseOutputFacts(contentType);
      if (!accepts(state, facts.code)) continue;
      if (index < packs.from || index >= packs.to || !setBit(done, index - packs.from)) continue;
      if (failed !== undefined) clearBit(failed, index - packs.from);
      delete state.again[index];
      if (recount) continue;
      draft.gained += 1;
      state.durationsMs.push(facts.ms);
      state.computeMs += facts.ms;
      state.calls = addCalls(state.calls, facts.calls);
    }
    open.done = encodeBitmap(done);
    delete open.recount;
    if (failed !== undefined && countBits(failed) > 0) open.failed = encodeBitmap(failed);
    else delete open.failed;
  }
  state.durationsMs.splice(0, state.durationsMs.length - limits.durationsKept);
}

/** Marks the nodes that are there. */
export function trackNodes(draft: Draft, { nodes }: Pick<Seen, "nodes">): void {
  const { state } = draft;
  for (const { level, index, contentType } of nodes) {
    const name = workName({ kind: "node", level, index });
    const node = level === 1 ? state.sealed[index] : state.groups[name];
    const facts = parseOutputFacts(contentType);
    if (node === undefined || node.node || node.gen !== state.generation) continue;
    if (!accepts(state, facts.code)) continue;
    node.node = true;
    state.taskMsMax["combine"] = Math.max(state.taskMsMax["combine"] ?? 0, facts.ms);
    state.calls = addCalls(state.calls, facts.calls);
    delete state.tasks[name];
    draft.decided = true;
  }
}

function byShard(
  parts: readonly SeenOutput[],
  shardOfPack: (pack: number) => number,
): Map<number, SeenOutput[]> {
  const shards = new Map<number, SeenOutput[]>();
  for (const part of parts) {
    const shard = shardOfPack(part.index);
    const found = shards.get(shard);
    if (found === undefined) shards.set(shard, [part]);
    else found.push(part);
  }
  return shards;
}

/** Whether a pack has its outcome, done or failed. Bitmaps are decoded once for all questions. */
export function outcomeOf(state: State): (pack: number) => "done" | "failed" | "open" {
  const bitmaps = new Map<number, { done: Uint8Array; failed: Uint8Array }>();
  return (pack) => {
    const layout = layoutOf(state);
    const shard = shardOf(layout, pack);
    const open = state.open[shard];
    if (open === undefined) return shard in state.sealed ? "done" : "open";
    const packs = packsOfShard(layout, shard);
    let bits = bitmaps.get(shard);
    if (bits === undefined) {
      const size = sizeOf(packs);
      bits = {
        done: decodeBitmap(open.done, size),
        failed: open.failed === undefined ? emptyBitmap(size) : decodeBitmap(open.failed, size),
      };
      bitmaps.set(shard, bits);
    }
    if (hasBit(bits.done, pack - packs.from)) return "done";
    return hasBit(bits.failed, pack - packs.from) ? "failed" : "open";
  };
}

/** Sent packs without an outcome, in send order; looks only at open shards. */
export function unfinishedPacks(state: State): number[] {
  if (state.layout === undefined) return [];
  const outcome = outcomeOf(state);
  const unfinished: number[] = [];
  for (const shard of Object.keys(state.open)
    .map(Number)
    .sort((a, b) => a - b)) {
    const packs = packsOfShard(state.layout, shard);
    for (let pack = packs.from; pack < Math.min(packs.to, state.cursor); pack += 1) {
      if (outcome(pack) === "open") unfinished.push(pack);
    }
  }
  return unfinished;
}

/**
 * Counts what the bitmaps say, so that no count can drift from them: packs and chunks done and failed, and packs
 * sent without an outcome. Its cost grows with the open shards; a sealed one costs a few operations.
 */
export function tally(state: State): void {
  const { layout } = state;
  if (layout === undefined) return;
  let done = 0;
  let failed = 0;
  let inFlight = 0;
  const packs = packsOf(layout);
  /** Chunks that the last pack has less than the others. */
  const short = packs * layout.packSize - layout.chunks;
  const lastShard = packs === 0 ? -1 : shardOf(layout, packs - 1);
  let last: "done" | "failed" | "open" = "open";

  for (const [name, { members }] of Object.entries(state.sealed)) {
    const range = packsOfShard(layout, Number(name));
    const size = sizeOf(range);
    const bits = members === undefined ? undefined : decodeBitmap(members, size);
    const there = bits === undefined ? size : countBits(bits);
    done += there;
    failed += size - there;
    if (Number(name) === lastShard) last = bits === undefined || hasBit(bits, size - 1) ? "done" : "failed";
  }
  for (const [name, open] of Object.entries(state.open)) {
    const range = packsOfShard(layout, Number(name));
    const size = sizeOf(range);
    const doneBits = decodeBitmap(open.done, size);
    const failedBits = open.failed === undefined ? emptyBitmap(size) : decodeBitmap(open.failed, size);
    done += countBits(doneBits);
    failed += countBits(failedBits);
    const sent = Math.min(Math.max(state.cursor - range.from, 0), size);
    for (let place = 0; place < sent; place += 1) {
      if (!hasBit(doneBits, place) && !hasBit(failedBits, place)) inFlight += 1;
    }
    if (Number(name) === lastShard) {
      if (hasBit(doneBits, size - 1)) last = "done";
      else if (hasBit(failedBits, size - 1)) last = "failed";
    }
  }
  state.packsDone = done;
  state.packsFailed = failed;
  state.inFlight = inFlight;
  state.chunksDone = done * layout.packSize - (last === "done" ? short : 0);
  state.chunksFailed = failed * layout.packSize - (last === "failed" ? short : 0);
}
