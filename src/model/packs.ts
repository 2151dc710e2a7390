import { decodeBitmap, hasBit } from "./bitmap.ts";
import { limits } from "./limits.ts";

/**
 * How chunks fall into packs and packs into shards. Consecutive chunks `[from, to)` make a pack, consecutive
 * packs a shard; the last of each may be short. All numbers are 0-based. `tree.ts` says how shards are folded.
 */
export interface Layout {
  readonly chunks: number;
  readonly packSize: number;
  readonly shardSize: number;
  /** Nodes that one node of the next level folds, and that `finish` folds at most. */
  readonly fanIn: number;
}

export interface Range {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** `7`, or `0–99` with the last one in it. */
export const rangeText = ({ from, to }: Range): string => (to === from + 1 ? `${from}` : `${from}–${to - 1}`);

export const packsOf = (layout: Layout): number => Math.ceil(layout.chunks / layout.packSize);
export const shardsOf = (layout: Layout): number => Math.ceil(packsOf(layout) / layout.shardSize);
export const shardOf = (layout: Layout, pack: number): number => Math.floor(pack / layout.shardSize);

export const chunksOfPack = (layout: Layout, pack: number): Range => ({
  from: pack * layout.packSize,
  to: Math.min((pack + 1) * layout.packSize, layout.chunks),
});

export const packsOfShard = (layout: Layout, shard: number): Range => ({
  from: shard * layout.shardSize,
  to: Math.min((shard + 1) * layout.shardSize, packsOf(layout)),
});

export const sizeOf = (range: Range): number => range.to - range.from;

/** Sizes of the tree by which partials become one result; tests take small ones. */
export type TreeLimits = Readonly<Record<"directPacksMax" | "shardPacksMax" | "fanIn", number>>;

/**
 * The shard size for so many packs: one shard while it can be folded directly, else near the square root; from some
 * thousand packs on larger, so that the packs in flight of a fast run lie in few shards, which are listed in each loop.
 */
export const shardSizeFor = (packs: number, tree: TreeLimits = limits): number =>
  packs <= tree.directPacksMax
    ? tree.directPacksMax
    : Math.min(tree.shardPacksMax, Math.ceil(Math.max(Math.sqrt(packs), Math.min(400, packs / 64))));

/**
 * The number of chunks per pack that gives packs of about the wanted time: the total work divided by 200 packs,
 * but at least a quarter second and at most 25 s each (DESIGN section 5).
 */
export function packSizeFor(chunks: number, chunkMs: number): number {
  if (chunks === 0) return 1;
  const totalMs = Math.max(chunks * chunkMs, 0.001);
  const packMs = Math.min(Math.max(totalMs / limits.packsAimed, limits.packMsMin), limits.packMsMax);
  const chunksPerPack = Math.round(packMs / Math.max(chunkMs, 0.000_001));
  return Math.min(Math.max(chunksPerPack, 1), chunks);
}

/** Chunk ranges of the packs whose index is missing from `has`, neighbours joined, ascending. */
export function gapsOf(layout: Layout, packs: Range, has: (pack: number) => boolean): Range[] {
  const gaps: { from: number; to: number }[] = [];
  for (let pack = packs.from; pack < packs.to; pack += 1) {
    if (has(pack)) continue;
    const { from, to } = chunksOfPack(layout, pack);
    const last = gaps.at(-1);
    if (last?.to === from) last.to = to;
    else gaps.push({ from, to });
  }
  return gaps;
}

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
