import { type Bitmap, decodeBitmap, hasBit } from "./bitmap.ts";
import { count } from "./figures.ts";
import { limits } from "./limits.ts";

/**
 * How a run is cut: consecutive chunks `[from, to)` make a pack, and consecutive packs a shard; the last of each may be
 * short. All numbers are 0-based. `tree.ts` says how shards are folded.
 */
export interface Layout {
  readonly chunks: number;
  readonly packSize: number;
  readonly shardSize: number;
  /** Most nodes that a node of the next level, or `finish`, folds. */
  readonly fanIn: number;
  /** The calculation is asked whether it stops; see `prefixes.ts`. */
  readonly stops?: true | undefined;
}

export interface Range {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** `7`, or `0–99` with the last one included. */
export const rangeText = ({ from, to }: Range): string => (to === from + 1 ? `${from}` : `${from}–${to - 1}`);

/** `chunk 7`, `chunks 0–99`. */
export const chunksText = (range: Range): string =>
  `${sizeOf(range) === 1 ? "chunk" : "chunks"} ${rangeText(range)}`;

/** `0–99, 200–222, 300`; of many ranges the first few: `…, and 42 more`. */
export function rangesText(ranges: readonly Range[], most = 8): string {
  const shown = ranges.slice(0, most).map(rangeText);
  const more = ranges.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${count(more)} more`] : [])].join(", ");
}

/** Work at hand: `pack 17, chunks 170–179, at 175, isolated`. */
export function atHandText(of: {
  readonly work: string;
  readonly chunks?: Range;
  /** The one that is computed. */
  readonly chunk?: number;
  readonly isolated: boolean;
}): string {
  const { work, chunks, chunk, isolated } = of;
  const isOne = chunks !== undefined && sizeOf(chunks) === 1;
  return [
    work,
    ...(chunks === undefined ? [] : [chunksText(chunks)]),
    ...(chunk === undefined || isOne ? [] : [`at ${chunk}`]),
    ...(isolated ? ["isolated"] : []),
  ].join(", ");
}

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

export const indexesOf = ({ from, to }: Range): number[] =>
  Array.from({ length: Math.max(to - from, 0) }, (_, offset) => from + offset);

/** Sizes of the tree of partials; tests use small ones. */
export type TreeLimits = Readonly<Record<"directPacksMax" | "shardPacksMax" | "fanIn", number>>;

/**
 * The shard size for a number of packs: one shard while it can be folded directly, else about the square root, as a power
 * of two. It is larger from some thousand packs on: each loop lists the open shards, and the packs in flight of a fast run
 * must lie in few.
 */
export const shardSizeFor = (packs: number, tree: TreeLimits = limits): number =>
  packs <= tree.directPacksMax
    ? tree.directPacksMax
    : Math.min(tree.shardPacksMax, powerFrom(Math.max(Math.sqrt(packs), Math.min(400, packs / 64))));

/** The least power of two that is not below `size`. */
export function powerFrom(size: number): number {
  let power = 1;
  while (power < size) power *= 2;
  return power;
}

/** The power of two whose ratio to `size` is the least. */
const powerNear = (size: number): number => 2 ** Math.round(Math.log2(size));

/**
 * Chunks per pack: the total work divided by 180 packs, or by 40 while packs are shorter than two seconds, and by four for
 * each of so many `workers`, but a quarter second or more, and at most 25 s for a pack and a quarter of the time limit of its
 * attempt. Unless one pack holds all chunks it is a power of two, so that its partial is one span of the tree (`foldTree.ts`).
 */
export function packSizeFor(chunks: number, chunkMs: number, limitMs: number, workers = 0): number {
  if (chunks === 0) return 1;
  const totalMs = Math.max(chunks * chunkMs, 0.001);
  const ofWorkers = limits.packsPerWorker * workers;
  const shortMs = Math.min(totalMs / Math.max(limits.packsAimedShort, ofWorkers), limits.packMsShort);
  const aimedMs = Math.max(totalMs / Math.max(limits.packsAimed, ofWorkers), shortMs, limits.packMsMin);
  const mostMs = Math.min(limits.packMsMax, limitMs * limits.packLimitShare);
  const aimed = Math.min(aimedMs, mostMs) / Math.max(chunkMs, 0.000_001);
  if (aimed >= chunks) return chunks;
  const near = powerNear(aimed);
  // Few packs balance better if they are smaller.
  const isTooLong = near * chunkMs > mostMs || (near > aimed && chunks / near < limits.packsFew);
  const size = isTooLong ? near / 2 : near;
  const isTooShort = size * chunkMs < limits.packMsMin && 2 * size * chunkMs <= mostMs;
  return Math.max(1, isTooShort ? Math.min(2 * size, chunks) : size);
}

/** At least as many chunks as a thread computes at the same time, or the thread waits for fewer than it could. */
export const packSizeAtOnce = (chunks: number, size: number, atOnce = 1): number =>
  Math.min(Math.max(size, powerFrom(atOnce)), Math.max(chunks, 1));

/** Whether more workers could make the packs of so much work smaller, so that it is worth a look how many there are. */
export const dependsOnWorkers = (totalMs: number): boolean => totalMs > limits.packsAimed * limits.packMsMin;

/** The same for a run whose partials a later one may reuse: small packs, and not more than `finish` folds directly. */
export const reusablePackSize = (chunks: number, size: number): number =>
  Math.min(size, Math.max(1, 2 ** Math.floor(Math.log2(chunks / limits.packsReusable))));

/**
 * Chunk ranges of a shard that are folded, or that are missing; ascending. `members` are its packs that are folded
 * (absent: all), and `some` gives of those with gaps the bitmap of the chunks that are.
 */
export function rangesOfShard(
  layout: Layout,
  shard: number,
  members: string | undefined,
  which: "folded" | "missing",
  some: ReadonlyMap<number, string> = new Map(),
): Range[] {
  const packs = packsOfShard(layout, shard);
  const bits = members === undefined ? undefined : decodeBitmap(members, sizeOf(packs));
  const isFolded = (pack: number): boolean => bits === undefined || hasBit(bits, pack - packs.from);
  return joined(
    indexesOf(packs).flatMap((pack) => {
      const chunks = chunksOfPack(layout, pack);
      const bitmap = isFolded(pack) ? some.get(pack) : undefined;
      if (bitmap === undefined) return isFolded(pack) === (which === "folded") ? [chunks] : [];
      return rangesIn(chunks, decodeBitmap(bitmap, sizeOf(chunks)), which === "folded");
    }),
  );
}

/** The ranges of these chunks whose bit, by their index among them, is set or is not. */
export function rangesIn({ from, to }: Range, bits: Bitmap, set: boolean): Range[] {
  const ranges: Range[] = [];
  for (let chunk = from; chunk < to; chunk += 1) {
    if (hasBit(bits, chunk - from) !== set) continue;
    const first = chunk;
    while (chunk < to && hasBit(bits, chunk - from) === set) chunk += 1;
    ranges.push({ from: first, to: chunk });
  }
  return ranges;
}

/** The packs of a shard whose bit is set; of no bitmap none. */
export function packsIn(layout: Layout, shard: number, bitmap: string | undefined): number[] {
  if (bitmap === undefined) return [];
  const packs = packsOfShard(layout, shard);
  const bits = decodeBitmap(bitmap, sizeOf(packs));
  return indexesOf(packs).filter((pack) => hasBit(bits, pack - packs.from));
}

/** Ascending ranges with neighbors joined. */
export function joined(ranges: readonly Range[]): Range[] {
  const all: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = all.at(-1);
    if (last?.to === from) last.to = to;
    else all.push({ from, to });
  }
  return all;
}
