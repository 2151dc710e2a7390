import { unlessCorrupt } from "../../model/decode.ts";
import { spansOf } from "../../model/foldTree.ts";
import { packsOfShard, type Range, sizeOf } from "../../model/packs.ts";
import { wholeShards } from "../../model/reuse.ts";
import { type FoundOutput, findNodes, type OutputsOf } from "./outputs.ts";

/**
 * Nodes of earlier plans that fold just what this shard reuses, by their first chunk here: what lies below them is not merged
 * again (docs/ARCHITECTURE.md, rule 31). `packs` are the partials that the shard folds.
 *
 * Not promised: that each such node is found. Those of a short last shard and of a retry are left out, and merged anew.
 */
export async function reusedNodes(
  of: OutputsOf,
  shard: number,
  packs: readonly FoundOutput[],
): Promise<ReadonlyMap<number, FoundOutput>> {
  const { plan } = of;
  const firstChunks = new Set(packs.filter(({ facts }) => facts.reused === 1).map(({ cover }) => cover.from));
  /** Whether each pack of it is folded here, and whether it is one span, which has the same fold at any place. */
  const fits = (cover: Range): boolean => {
    for (let chunk = cover.from; chunk < cover.to; chunk += plan.packSize)
      if (!firstChunks.has(chunk)) return false;
    return spansOf(cover).length === 1;
  };
  const nodes = new Map<number, FoundOutput>();
  const whole = Map.groupBy(wholeShards(plan.reused ?? [], packsOfShard(plan, shard)), (one) => one.of);
  for (const [earlier, shards] of whole) {
    const covers = new Map(
      shards
        .sort((a, b) => a.shard - b.shard)
        .map(({ shard, packs: { from, to } }): [number, Range] => [
          shard,
          { from: from * plan.packSize, to: to * plan.packSize },
        ])
        .filter(([, cover]) => fits(cover)),
    );
    const there = { ...of, plan: { ...plan, ...earlier }, wanted: { ...of.wanted, plan: earlier.plan } };
    const generations = new Map([...covers.keys()].map((index) => [index, 1]));
    const found = await unlessCorrupt(() => findNodes(there, 1, generations));
    for (const [index, node] of found ?? []) {
      const cover = covers.get(index);
      if (cover !== undefined && node.facts.folded === sizeOf(cover))
        nodes.set(cover.from, { ...node, cover });
    }
  }
  return nodes;
}
