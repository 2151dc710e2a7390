import * as z from "zod";
import { decodeBitmap, hasBit } from "./bitmap.ts";
import {
  chunksOfPack,
  type Layout,
  packsOf,
  packsOfShard,
  type Range,
  shardOf,
  shardsOf,
  sizeOf,
} from "./packs.ts";
import { cutTo, nextPrefix, shardsOfPrefix } from "./prefixes.ts";
import { isFinal, type State } from "./state.ts";

/**
 * What a state says of a pack that was sent. `givenUp`: the run ended early without
 * it, and no leader knew that it had failed.
 */
export type Outcome = "done" | "failed" | "givenUp" | "inFlight";

/** How the packs of a shard are, each undefined if it was not sent; undefined where nothing of the shard was sent or done. */
export function outcomesOf(
  state: State,
  layout: Layout,
  shard: number,
): ((pack: number) => Outcome | undefined) | undefined {
  const packs = packsOfShard(layout, shard);
  const { gaveUp } = state;
  const hadFailed = bitsOf(packs, gaveUp?.failed[shard]);
  const lost = (pack: number): Outcome =>
    gaveUp === undefined || hadFailed?.(pack) === true ? "failed" : "givenUp";
  const sealed = state.sealed[shard];
  if (sealed !== undefined) {
    const isMember = bitsOf(packs, sealed.members);
    return (pack) => (isMember?.(pack) !== false ? "done" : lost(pack));
  }
  const open = state.open[shard];
  if (open === undefined) return undefined;
  const isDone = bitsOf(packs, open.done);
  const isLost = bitsOf(packs, open.failed);
  const sentUpTo = isFinal(state.phase) ? 0 : (gaveUp?.cursor ?? state.cursor);
  return (pack) => {
    if (isDone?.(pack) === true) return "done";
    if (isLost?.(pack) === true) return lost(pack);
    return pack < sentUpTo ? "inFlight" : undefined;
  };
}

/** Whether a pack is done, failed or given up, so that nothing of it is sent or waited for. Bitmaps are decoded once for all questions. */
export function hasOutcome(state: State, layout: Layout): (pack: number) => boolean {
  const shards = new Map<number, NonNullable<ReturnType<typeof outcomesOf>>>();
  return (pack) => {
    const shard = shardOf(layout, pack);
    const outcomes = shards.get(shard) ?? outcomesOf(state, layout, shard);
    // A shard that is not open yet may be before the next question.
    if (outcomes !== undefined) shards.set(shard, outcomes);
    const outcome = outcomes?.(pack);
    return outcome !== undefined && outcome !== "inFlight";
  };
}

/**
 * The packs and chunks that a run gave up, and how many packs of those that its counts hold were never sent. None of a run
 * that did not end early, or whose state an older version wrote.
 */
export function givenUpOf(state: State): {
  readonly packs: number;
  readonly chunks: number;
  readonly unsent: number;
} {
  const { layout, gaveUp } = state;
  const found = { packs: 0, chunks: 0, unsent: 0 };
  if (layout === undefined || gaveUp === undefined) return found;
  for (let shard = 0; shard < shardsOf(layout); shard += 1) {
    const outcome = outcomesOf(state, layout, shard);
    const { from, to } = packsOfShard(layout, shard);
    for (let pack = from; outcome !== undefined && pack < to; pack += 1) {
      const is = outcome(pack);
      if (is === "givenUp") {
        found.packs += 1;
        found.chunks += sizeOf(chunksOfPack(layout, pack));
      }
      if (pack >= gaveUp.cursor && (is === "givenUp" || is === undefined)) found.unsent += 1;
    }
  }
  return found;
}

const count = z.int().nonnegative();

/** Where the calculation of a run may end it early (rule *early stop*). */
export const stopSchema = z.object({
  of: count.describe("The chunks of the plan."),
  next: z
    .object({ chunks: count, packs: z.object({ total: count, done: count, failed: count }) })
    .describe("The prefix that it is asked about next; packs with gaps count as done.")
    .exactOptional(),
  after: count.describe("It stopped after so many chunks.").exactOptional(),
});
export type Stop = z.infer<typeof stopSchema>;

/** Undefined where nothing is asked, or nothing any more. */
export function stopOf(state: State): Stop | undefined {
  const { layout, stopped } = state;
  if (layout !== undefined && stopped !== undefined) return { of: stopped.of, after: layout.chunks };
  const next = state.phase === "computing" && state.keep !== true ? nextPrefix(state) : undefined;
  if (layout === undefined || next === undefined) return undefined;
  const packs = { total: packsOf(cutTo(layout, next.chunks)), done: 0, failed: 0 };
  for (let shard = 0; shard < shardsOfPrefix(layout, next.chunks); shard += 1) {
    const outcome = outcomesOf(state, layout, shard);
    const { from, to } = packsOfShard(layout, shard);
    for (let pack = from; outcome !== undefined && pack < to; pack += 1) {
      const is = outcome(pack);
      if (is === "done") packs.done += 1;
      else if (is === "failed") packs.failed += 1;
    }
  }
  return { of: layout.chunks, next: { chunks: next.chunks, packs } };
}

function bitsOf(packs: Range, text: string | undefined): ((pack: number) => boolean) | undefined {
  if (text === undefined) return undefined;
  const bits = decodeBitmap(text, sizeOf(packs));
  return (pack) => hasBit(bits, pack - packs.from);
}
