import { joined, rangesOfShard } from "../../model/coverage.ts";
import { LeasefoldError } from "../../model/errors.ts";
import { lastNumberOf, runBlobs } from "../../model/names.ts";
import { decodeFoldFacts } from "../../model/output.ts";
import { type Range, sizeOf } from "../../model/packs.ts";
import type { Plan } from "../../model/run.ts";
import { foldsPacksDirectly } from "../../model/tree.ts";
import type { WorkerPorts } from "../ports.ts";
import { listOutputs } from "./foundOutputs.ts";

/**
 * The chunk ranges that a result misses. Only the shards' nodes tell their members, so in a run with gaps they are
 * listed; of several generations of a node the highest is the one that was folded. Throws if the ranges do not add
 * up to what was folded: a list of gaps is right or there is no result.
 */
export async function missingChunks(
  ports: WorkerPorts,
  plan: Plan,
  message: { readonly gen: number; readonly members?: string | undefined },
  folded: number,
): Promise<Range[]> {
  if (folded === plan.chunks) return [];
  const members = foldsPacksDirectly(plan)
    ? new Map([[0, message.members]])
    : await membersOfShards(ports, plan, message.gen);
  const shards = [...members].sort(([a], [b]) => a - b);
  const missing = joined(shards.flatMap(([shard, bits]) => rangesOfShard(plan, shard, bits, "missing")));
  const chunks = missing.reduce((sum, range) => sum + sizeOf(range), 0);
  if (chunks + folded === plan.chunks) return missing;
  const text = `${folded} of ${plan.chunks} chunks were folded, but the shards tell of ${chunks} that were not`;
  throw new LeasefoldError("gaps-differ", text);
}

async function membersOfShards(
  ports: WorkerPorts,
  plan: Plan,
  gen: number,
): Promise<Map<number, string | undefined>> {
  const members = new Map<number, string | undefined>();
  for (let generation = plan.origin ?? 1; generation <= gen; generation += 1) {
    const nodes = runBlobs(plan.run, plan.uid, plan.origin).nodesOf(generation, 1);
    for await (const { name, metadata } of listOutputs(ports, nodes)) {
      members.set(lastNumberOf(name), decodeFoldFacts(metadata, name).members);
    }
  }
  return members;
}
