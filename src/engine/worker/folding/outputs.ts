import { accepts } from "../../model/identity.ts";
import type { MessageOf } from "../../model/message.ts";
import {
  type AcceptedOutput,
  belongsTo,
  decodeFoldFacts,
  type FoldFacts,
  type OutputFacts,
  parseOutputFacts,
} from "../../model/output.ts";
import {
  chunksOfPack,
  indexesOf,
  packsIn,
  packsOfShard,
  type Range,
  rangesOfShard,
  sizeOf,
} from "../../model/packs.ts";
import type { Plan } from "../../model/run.ts";
import { lastNumberOf, runBlobs } from "../../model/runBlobs.ts";
import { coverOfNode, coverOfPack, decodeGens } from "../../model/tree.ts";
import { pagesOf } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { MalformedWorkError, StorageLostError, type WorkerPorts } from "../ports.ts";

/** The outputs of a run, partials and nodes: what a message says to fold, and what is there. */

/** The run whose outputs are asked for, and what they must be of; those of another plan or other code count as missing. */
export interface OutputsOf {
  readonly ports: WorkerPorts;
  readonly plan: Plan;
  readonly accepted: AcceptedOutput;
}

/** A partial or node as a list with metadata shows it: a small one with its bytes, each with its facts. */
export interface FoundOutput {
  readonly blob: ListedBlob;
  /** The chunks that it covers, gaps among them. */
  readonly cover: Range;
  readonly facts: FoldFacts;
}

type Found = Map<number, FoundOutput>;

/** The member partials of a shard in index order. Throws `StorageLostError` if one is definitely not there. */
export async function packsToFold(
  of: OutputsOf,
  shard: number,
  { members }: Pick<MessageOf<"combine" | "finish">, "members">,
): Promise<FoundOutput[]> {
  const packs =
    members === undefined ? indexesOf(packsOfShard(of.plan, shard)) : packsIn(of.plan, shard, members);
  return allOf(await findPacks(of, shard), packs, "the partial of pack");
}

/** Of the packs of a shard that are folded with gaps the bitmaps of their chunks; `folded` says whether there are any. */
export async function chunksOfGaps(
  of: OutputsOf,
  shard: number,
  { members, folded }: Pick<FoldFacts, "members" | "folded">,
): Promise<ReadonlyMap<number, string>> {
  const whole = rangesOfShard(of.plan, shard, members, "folded").reduce((sum, one) => sum + sizeOf(one), 0);
  if (folded === whole) return new Map();
  const found = [...(await findPacks(of, shard))];
  return new Map(
    found.flatMap(([pack, { facts }]) => (facts.members === undefined ? [] : [[pack, facts.members]])),
  );
}

/** Neighboring nodes of a level in index order, each in its generation. Throws as `packsToFold` does. */
export async function nodesToFold(
  of: OutputsOf,
  level: number,
  nodes: Range,
  message: Generations,
): Promise<FoundOutput[]> {
  const generations = generationsOf(nodes, message);
  return allOf(await findNodes(of, level, generations), generations.keys(), `level ${level}: the node`);
}

interface Generations {
  readonly gen: number;
  readonly childGens?: string | undefined;
}

/** The generation of each of these nodes; throws `MalformedWorkError` where the message gives another number of them. */
export function generationsOf(nodes: Range, { gen, childGens }: Generations): Map<number, number> {
  const gens = childGens === undefined ? undefined : decodeGens(childGens, nodes);
  if (childGens !== undefined && gens === undefined) {
    throw new MalformedWorkError("bad-generations", `${childGens} is not for ${nodes.to - nodes.from} nodes`);
  }
  return new Map(indexesOf(nodes).map((index, offset) => [index, gens?.[offset] ?? gen]));
}

function allOf(found: Found, indexes: Iterable<number>, what: string): FoundOutput[] {
  return Array.from(indexes, (index) => {
    const output = found.get(index);
    if (output === undefined) throw new StorageLostError("storage-lost", `${what} ${index} is not there`);
    return output;
  });
}

/** The partials of a shard that are there and may be folded, by pack in ascending order. */
export async function findPacks({ ports, plan, accepted }: OutputsOf, shard: number): Promise<Found> {
  const packs = packsOfShard(plan, shard);
  const found: Found = new Map();
  for await (const blob of listOutputs(ports, runBlobs(plan.run, plan.uid).partsOf(shard))) {
    const pack = lastNumberOf(blob.name);
    const output = parseOutputFacts(blob.contentType);
    if (pack >= packs.from && pack < packs.to && belongsTo(accepted, output))
      found.set(pack, packOutput(plan, pack, blob, output));
  }
  return found;
}

function packOutput(plan: Plan, pack: number, blob: ListedBlob, output: OutputFacts): FoundOutput {
  const { attempt, code, gaps } = output;
  const whole = {
    folded: sizeOf(chunksOfPack(plan, pack)),
    ...{ attempts: attempt, code: code === undefined ? [] : [code] },
  };
  const facts = gaps === undefined ? whole : decodeFoldFacts(blob.metadata, blob.name);
  return { blob, cover: coverOfPack(plan, pack), facts };
}

/** The nodes of a level that are there, by index; `generations` says which ones, in ascending order. */
export async function findNodes(
  { ports, plan, accepted: of }: OutputsOf,
  level: number,
  generations: ReadonlyMap<number, number>,
): Promise<Found> {
  const at = runBlobs(plan.run, plan.uid);
  const found: Found = new Map();
  for (const generation of new Set(generations.values())) {
    const indexes = [...generations.keys()].filter((index) => generations.get(index) === generation);
    const [first, last] = [indexes[0] as number, indexes.at(-1) as number];
    const prefix = commonStart(at.node(generation, level, first), at.node(generation, level, last));
    for await (const blob of listOutputs(ports, prefix)) {
      const index = lastNumberOf(blob.name);
      if (generations.get(index) !== generation || !belongsTo(of, parseOutputFacts(blob.contentType)))
        continue;
      const facts = decodeFoldFacts(blob.metadata, blob.name);
      const cover = coverOfNode(plan, level, index);
      if (facts.code.every((one) => accepts(of, one))) found.set(index, { blob, cover, facts });
    }
  }
  return found;
}

export async function* listOutputs(
  { storage, names }: WorkerPorts,
  prefix: string,
): AsyncGenerator<ListedBlob> {
  for await (const page of pagesOf(storage.blobs, names.runs, prefix, { metadata: true })) yield* page.blobs;
}

/** Names are sorted as text, so every name between two begins as both do. */
function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return a.slice(0, length);
}
