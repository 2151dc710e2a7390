import { decodeBitmap, hasBit } from "./bitmap.ts";
import { gapsOf, type Layout, packsOfShard, type Range, sizeOf } from "./packs.ts";

/** Chunk ranges of a shard that are in its node, or with `missing` those that are not; ascending. */
export function rangesOfShard(
  layout: Layout,
  shard: number,
  members: string | undefined,
  which: "folded" | "missing",
): Range[] {
  const packs = packsOfShard(layout, shard);
  const bits = members === undefined ? undefined : decodeBitmap(members, sizeOf(packs));
  const folded = (pack: number): boolean => bits === undefined || hasBit(bits, pack - packs.from);
  return gapsOf(layout, packs, (pack) => folded(pack) === (which === "missing"));
}

/** Ascending ranges with neighbours joined. */
export function joined(ranges: Iterable<Range>): Range[] {
  const all: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = all.at(-1);
    if (last?.to === from) last.to = to;
    else all.push({ from, to });
  }
  return all;
}
