import { coverOf } from "./foldTree.ts";
import { chunksOfPack, type Layout, packsOfShard, type Range, shardsOf, sizeOf } from "./packs.ts";
import { askedLevel, prefixesOf, shardsOfPrefix } from "./prefixes.ts";

/**
 * Who folds what: level 1 has one node per shard; each further level folds up to `fanIn` neighbors of the level below;
 * `finish` folds the top level. A run of one shard has no nodes: `finish` folds its packs. `foldTree.ts` says in which
 * order partials are merged, whoever folds them.
 */

/** Nodes per level, level 1 first; empty if `finish` folds the packs. */
export function nodeCounts(layout: Layout): readonly number[] {
  if (foldsPacksDirectly(layout)) return [];
  const counts = [shardsOf(layout)];
  for (let last = shardsOf(layout); last > layout.fanIn; counts.push(last))
    last = Math.ceil(last / layout.fanIn);
  return counts;
}

export const foldsPacksDirectly = (layout: Layout): boolean => shardsOf(layout) <= 1;

/** The level that `finish` folds; 0 for the packs. */
export const topLevel = (layout: Layout): number => nodeCounts(layout).length;

/** The prefix whose fold a node is, in chunks; undefined for any other node. */
export const prefixAt = (layout: Layout, level: number, index: number): number | undefined =>
  layout.stops === true && level === askedLevel ? prefixesOf(layout.chunks)[index] : undefined;

/** The nodes of `level - 1` that a node of `level` (2 or more) folds. */
export function childrenOf(layout: Layout, level: number, index: number): Range {
  const prefix = prefixAt(layout, level, index);
  if (prefix !== undefined) return { from: 0, to: shardsOfPrefix(layout, prefix) };
  return {
    from: index * layout.fanIn,
    to: Math.min((index + 1) * layout.fanIn, nodeCounts(layout)[level - 2] ?? 0),
  };
}

/** What a pack's partial covers. */
export const coverOfPack = (layout: Layout, pack: number): Range =>
  coverOf(chunksOfPack(layout, pack), layout.chunks);

/** What a node covers. */
export function coverOfNode(layout: Layout, level: number, index: number): Range {
  const prefix = prefixAt(layout, level, index);
  if (prefix !== undefined) return { from: 0, to: prefix };
  const shards = layout.fanIn ** (level - 1);
  const first = packsOfShard(layout, index * shards).from;
  const last = packsOfShard(layout, Math.min((index + 1) * shards, shardsOf(layout)) - 1).to - 1;
  const chunks = { from: chunksOfPack(layout, first).from, to: chunksOfPack(layout, last).to };
  return coverOf(chunks, layout.chunks);
}

/** Generations of neighboring nodes as text, with equal neighbors counted: `1x500,2,1x499`. */
export function encodeGens(gens: readonly number[]): string {
  const runs: { gen: number; count: number }[] = [];
  for (const gen of gens) {
    const last = runs.at(-1);
    if (last?.gen === gen) last.count += 1;
    else runs.push({ gen, count: 1 });
  }
  return runs.map(({ gen, count }) => (count === 1 ? `${gen}` : `${gen}x${count}`)).join(",");
}

/** The inverse of `encodeGens`; undefined unless the text has exactly one generation per node. */
export function decodeGens(text: string, nodes: Range): number[] | undefined {
  const gens: number[] = [];
  for (const run of text.split(",")) {
    const match = /^(\d{1,6})(?:x(\d{1,6}))?$/.exec(run);
    if (match === null || gens.length > sizeOf(nodes)) return undefined;
    const gen = Number(match[1]);
    if (gen < 1) return undefined;
    for (let count = Number(match[2] ?? 1); count > 0; count -= 1) gens.push(gen);
  }
  return gens.length === sizeOf(nodes) ? gens : undefined;
}
