import { decodeBitmap, hasBit } from "../../model/bitmap.ts";
import type { WantedCode } from "../../model/identity.ts";
import { type Layout, packsOfShard, type Range, sizeOf } from "../../model/packs.ts";
import type { Plan } from "../../model/run.ts";
import { decodeGens } from "../../model/tree.ts";
import { MalformedWorkError, StorageLostError, type WorkerPorts } from "../ports.ts";
import { type Found, type FoundOutput, findNodes, findPacks } from "./foundOutputs.ts";

/** The outputs that a message says to fold. Every one of them is there, or nothing is folded. */

/** The member partials of a shard, in index order. */
export async function wantedPacks(
  ports: WorkerPorts,
  plan: Plan,
  shard: number,
  members: string | undefined,
  code: WantedCode,
): Promise<FoundOutput[]> {
  const wanted = membersOf(plan, shard, members);
  return allOf(await findPacks(ports, plan, shard, code), wanted, "the partial of pack");
}

/** Neighbouring nodes of a level, in index order, each in its generation. */
export async function wantedNodes(
  ports: WorkerPorts,
  plan: Plan,
  level: number,
  nodes: Range,
  message: { readonly gen: number; readonly childGens?: string | undefined },
  code: WantedCode,
): Promise<FoundOutput[]> {
  const generations = generationsOf(nodes, message);
  const found = await findNodes(ports, plan, level, generations, code);
  return allOf(found, generations.keys(), `level ${level}: the node`);
}

/** The generation of each of these nodes; throws `MalformedWorkError` where the message does not give so many. */
export function generationsOf(
  nodes: Range,
  message: { readonly gen: number; readonly childGens?: string | undefined },
): Map<number, number> {
  const { gen, childGens } = message;
  const gens = childGens === undefined ? undefined : decodeGens(childGens, nodes);
  if (childGens !== undefined && gens === undefined) {
    throw new MalformedWorkError("bad-generations", `${childGens} is not for ${nodes.to - nodes.from} nodes`);
  }
  return new Map(indexesOf(nodes).map((index, place) => [index, gens?.[place] ?? gen]));
}

/** Those found, in the order wanted. Throws `StorageLostError` if one of them is definitely not there. */
function allOf(found: Found, wanted: Iterable<number>, what: string): FoundOutput[] {
  return Array.from(wanted, (index) => {
    const output = found.get(index);
    if (output === undefined) throw new StorageLostError("storage-lost", `${what} ${index} is not there`);
    return output;
  });
}

/** The packs of a shard that are folded: all of them, or those whose bit is set. */
function membersOf(layout: Layout, shard: number, members: string | undefined): number[] {
  const packs = packsOfShard(layout, shard);
  const all = indexesOf(packs);
  if (members === undefined) return all;
  const bits = decodeBitmap(members, sizeOf(packs));
  return all.filter((pack) => hasBit(bits, pack - packs.from));
}

const indexesOf = ({ from, to }: Range): number[] =>
  Array.from({ length: Math.max(to - from, 0) }, (_, offset) => from + offset);
