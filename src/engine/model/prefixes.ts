import { type Layout, powerFrom, shardsOf } from "./packs.ts";
import { workName } from "./runBlobs.ts";
import type { State } from "./state.ts";

/**
 * Which prefixes of a run its calculation is asked about, where that has a `stop` (rule *early stop*). Their
 * lengths depend on the number of chunks alone. A plan cuts packs and shards so that each prefix ends with a shard: what
 * is asked about is the fold of sealed shards, whatever the size of a pack.
 */

/** Enough to stop early, few enough for their nodes to cost little. Another number would end runs elsewhere. */
const unitsPerRun = 64;

/** Chunks of the shortest prefix: a power of two, and every longer one is a multiple of it. */
const stopUnit = (chunks: number): number => Math.max(1, powerFrom(chunks) / unitsPerRun);

/** Lengths of the prefixes, ascending: 1, 2, 3, 4, 6, 8, 12 … units. The whole run is none of them. */
export function prefixesOf(chunks: number): readonly number[] {
  const unit = stopUnit(chunks);
  const prefixes: number[] = [];
  for (let size = unit; size < chunks; size *= 2) {
    prefixes.push(size);
    const between = size + size / 2;
    if (size > unit && between < chunks) prefixes.push(between);
  }
  return prefixes;
}

/** Chunks of a pack in a run that may stop: the power of two that is not above `size`, at most a unit. */
export const stoppingPackSize = (chunks: number, size: number): number =>
  Math.min(stopUnit(chunks), 2 ** Math.floor(Math.log2(size)));

/** The shards of a prefix. */
export const shardsOfPrefix = ({ packSize, shardSize }: Layout, prefix: number): number =>
  Math.ceil(prefix / (packSize * shardSize));

/** The run as if it had no chunks after a prefix. */
export function cutTo<Of extends Layout>(layout: Of, chunks: number): Of {
  const { stops: _, ...rest } = layout;
  return { ...rest, chunks } as Of;
}

/** A run that may stop has no nodes above those of its shards, but one for each prefix: its fold, at this level. */
export const askedLevel = 2;

/** As usual, but of a run that may stop each prefix ends with a shard, and nothing is folded above the shards but prefixes. */
export function stoppingLayout(usual: Layout): Layout {
  const { chunks, fanIn, stops } = usual;
  if (stops !== true) return usual;
  const packSize = stoppingPackSize(chunks, usual.packSize);
  const shardSize = Math.min(stopUnit(chunks) / packSize, 2 ** Math.floor(Math.log2(usual.shardSize)));
  const layout = { chunks, packSize, shardSize, fanIn };
  return { ...layout, fanIn: Math.max(fanIn, shardsOf(layout)), stops };
}

/** The number and the chunks of the first prefix of which no answer is known; undefined where all were refused, or none is asked. */
export function nextPrefix({
  layout,
  groups,
}: Pick<State, "layout" | "groups">): { readonly index: number; readonly chunks: number } | undefined {
  if (layout?.stops !== true) return undefined;
  const prefixes = prefixesOf(layout.chunks);
  const index = prefixes.findIndex((_, at) => groups[prefixName(at)]?.node !== true);
  const chunks = prefixes[index];
  return chunks === undefined ? undefined : { index, chunks };
}

export const prefixName = (index: number): string => workName({ kind: "node", level: askedLevel, index });

/** The chunks that the plan has. */
export const plannedChunks = ({ chunks }: Layout, { stopped }: Pick<State, "stopped">): number =>
  stopped?.of ?? chunks;
