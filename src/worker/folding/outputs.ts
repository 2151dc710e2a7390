import { decodeBitmap, hasBit } from "../../model/bitmap.ts";
import { accepts, type WantedCode } from "../../model/identity.ts";
import { decodeFoldFacts, type FoldFacts, parseOutputFacts } from "../../model/output.ts";
import { chunksOfPack, type Layout, packsOfShard, type Range, sizeOf } from "../../model/packs.ts";
import type { Plan } from "../../model/run.ts";
import { lastNumberOf, runBlobs } from "../../model/runBlobs.ts";
import { decodeGens } from "../../model/tree.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { MalformedWorkError, StorageLostError, type WorkerPorts } from "../ports.ts";

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

/** Partials and nodes as a list with metadata shows them: small ones with their bytes, each with its facts. */
export interface FoundOutput {
  readonly blob: ListedBlob;
  readonly facts: FoldFacts;
}

export type Found = Map<number, FoundOutput>;
type Run = { readonly run: string; readonly uid: string; readonly origin?: number | undefined };

/** The partials of a shard that are there, by pack. One of other code counts as missing. */
export async function findPacks(
  ports: WorkerPorts,
  plan: Layout & Run,
  shard: number,
  wanted: WantedCode,
): Promise<Found> {
  const { from, to } = packsOfShard(plan, shard);
  const found: Found = new Map();
  for await (const blob of listOutputs(ports, runBlobs(plan.run, plan.uid, plan.origin).partsOf(shard))) {
    const pack = lastNumberOf(blob.name);
    if (!(pack >= from && pack < to)) continue;
    const { attempt, code } = parseOutputFacts(blob.contentType);
    if (!accepts(wanted, code)) continue;
    const folded = sizeOf(chunksOfPack(plan, pack));
    found.set(pack, { blob, facts: { folded, attempts: attempt, code: code === undefined ? [] : [code] } });
  }
  return found;
}

/**
 * The nodes of a level that are there, by index; `generations` says which ones are wanted, in ascending order. One that
 * holds other code counts as missing.
 */
export async function findNodes(
  ports: WorkerPorts,
  { run, uid, origin }: Run,
  level: number,
  generations: ReadonlyMap<number, number>,
  code: WantedCode,
): Promise<Found> {
  const at = runBlobs(run, uid, origin);
  const found: Found = new Map();
  for (const generation of new Set(generations.values())) {
    const wanted = [...generations.keys()].filter((index) => generations.get(index) === generation);
    const [first, last] = [wanted[0] as number, wanted.at(-1) as number];
    const prefix = commonStart(at.node(generation, level, first), at.node(generation, level, last));
    for await (const blob of listOutputs(ports, prefix)) {
      const index = lastNumberOf(blob.name);
      if (generations.get(index) !== generation) continue;
      const facts = decodeFoldFacts(blob.metadata, blob.name);
      if (facts.code.every((one) => accepts(code, one))) found.set(index, { blob, facts });
    }
  }
  return found;
}

/** Page by page, so that of a long list only what is wanted is kept. */
export async function* listOutputs(ports: WorkerPorts, prefix: string): AsyncGenerator<ListedBlob> {
  let cursor: string | undefined;
  do {
    const page = await ports.storage.blobs.list(ports.names.runs, prefix, { metadata: true, cursor });
    yield* page.blobs;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Names are sorted as text, so every name between two begins as both do. */
function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}
