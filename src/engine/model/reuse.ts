import * as z from "zod";
import { type Bitmap, emptyBitmap, setBit } from "./bitmap.ts";
import { idSchema, sha256Pattern } from "./decode.ts";
import { type Layout, packsOfShard, type Range, sizeOf } from "./packs.ts";

/**
 * Partials of earlier runs that a run reuses where they stand (docs/ARCHITECTURE.md, rule 31). The plan worker
 * compares inputs and names them in the plan; the leader counts them as done, and whoever folds reads them there.
 *
 * Not promised: that they stay there. A run whose partial is gone fails as one that lost its own, and its retry computes.
 */
const count = z.int().nonnegative();

/** A plan of an earlier run. */
const earlierSchema = z.object({
  run: idSchema,
  uid: idSchema,
  /** SHA-256 of that plan: its partials carry it. */
  plan: z.string().regex(sha256Pattern),
});
export type Earlier = z.infer<typeof earlierSchema>;

/** In the spec: what a run may reuse, and that it keeps its partials for the runs after it. */
export const reuseSchema = z.object({
  /** Absent where there was nothing to reuse. */
  from: earlierSchema.optional(),
  /** That run and those that it reused partials of: the expiry keeps them while this run is active. */
  keeps: z.array(idSchema),
});
export type Reuse = z.infer<typeof reuseSchema>;

/** `[from, to, at]`: the packs `[from, to)` are the packs from `at` on of an earlier plan. */
const intervalSchema = z.tuple([count, count, count]);
export type ReusedInterval = z.infer<typeof intervalSchema>;

/** In the plan and the state: partials of one earlier plan, in ascending order of packs. */
export const reusedSchema = z.object({
  ...earlierSchema.shape,
  /** Packs of a shard there, which names the folder of a partial. */
  shardSize: z.int().positive(),
  packs: z.array(intervalSchema),
});
export type Reused = z.infer<typeof reusedSchema>;

/** The part of an interval that lies in a range of packs. */
function* within(reused: readonly Reused[], { from, to }: Range): Generator<[Reused, ReusedInterval]> {
  for (const one of reused)
    for (const [first, end, at] of one.packs) {
      const start = Math.max(first, from);
      if (start < Math.min(end, to)) yield [one, [start, Math.min(end, to), at + start - first]];
    }
}

/**
 * What the packs of a range are in earlier plans; several of these packs may be one there. They come by what one list finds:
 * a shard there, or with `digits` 1 several of the ten neighbors whose names begin alike.
 */
export function reusedShards(reused: readonly Reused[], packs: Range) {
  const lists = new Map<
    string,
    { of: Reused; shard: number; digits: number; numbers: Map<number, number> }
  >();
  for (const [of, [from, to, at]] of within(reused, packs))
    for (let pack = from; pack < to; pack += 1) {
      const there = at + pack - from;
      const shard = Math.floor(there / of.shardSize);
      const key = `${of.run} ${of.uid} ${Math.floor(shard / 10)}`;
      const known = lists.get(key) ?? { of, shard, digits: 0, numbers: new Map() };
      lists.set(key, known);
      if (shard !== known.shard) known.digits = 1;
      known.numbers.set(pack, there);
    }
  return lists.values();
}

/** The whole shards of earlier plans among these packs, and which packs they are here. */
export function* wholeShards(reused: readonly Reused[], among: Range) {
  for (const [of, [from, to, at]] of within(reused, among)) {
    const { shardSize } = of;
    for (let shard = Math.ceil(at / shardSize); ; shard += 1) {
      const first = from + shard * shardSize - at;
      const packs: Range = { from: first, to: first + shardSize };
      if (packs.to > to) break;
      yield { of, shard, packs };
    }
  }
}

/** The packs of a shard whose partials are reused. */
export function reusedBits(reused: readonly Reused[] = [], layout: Layout, shard: number): Bitmap {
  const packs = packsOfShard(layout, shard);
  const bits = emptyBitmap(sizeOf(packs));
  for (const [, [from, to]] of within(reused, packs))
    for (let pack = from; pack < to; pack += 1) setBit(bits, pack - packs.from);
  return bits;
}

/** How many packs are reused. */
export const packsReused = (reused: readonly Reused[] = []): number =>
  reused.reduce((sum, one) => one.packs.reduce((all, [from, to]) => all + to - from, sum), 0);
