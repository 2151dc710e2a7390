import { accepts, type WantedCode } from "../../model/identity.ts";
import { lastNumberOf, runBlobs } from "../../model/names.ts";
import { decodeFoldFacts, type FoldFacts, parseOutputFacts } from "../../model/output.ts";
import { chunksOfPack, type Layout, packsOfShard, sizeOf } from "../../model/packs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { WorkerPorts } from "../ports.ts";

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
