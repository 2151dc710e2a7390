import { randomUUID } from "node:crypto";
import type { BlobRequestConditions, BlockBlobClient } from "@azure/storage-blob";
import pMap from "p-map";
import type { BlobStore, BlobWrite, Conflict, Created, Replaced } from "../engine/storage/ports.ts";
import { withOutcomes } from "../engine/storage/storageErrors.ts";
import { blocksOf, uploadBlocksAtOnce } from "../engine/storage/uploadBlocks.ts";
import {
  azureCalls,
  createOutcomes,
  headersOf,
  ifMatchOf,
  noneMatch,
  replacedBy,
  replaceOutcomes,
} from "./azureCalls.ts";

const call = azureCalls("blob");

const whereOf = (blob: BlockBlobClient): string => `${blob.containerName}/${blob.name}`;

/** One Put Blob. */
export function putBlob(
  blob: BlockBlobClient,
  body: Uint8Array | string,
  write: BlobWrite,
  conditions: BlobRequestConditions,
): Promise<Replaced> {
  const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  const run = async (abortSignal: AbortSignal) =>
    replacedBy(await blob.upload(body, bytes, { abortSignal, conditions, ...headersOf(write) }));
  return call(`Put Blob ${whereOf(blob)}`, write, run, bytes);
}

type Upload = NonNullable<Parameters<BlobStore["upload"]>[3]>;

/**
 * A body that fits in one block is one Put Blob. Of a larger one the blocks are staged, a few at a time, and committed
 * by one Put Block List. Block names begin with an id of this upload, so blocks of other uploads never get into it.
 */
export async function uploadBody(
  blob: BlockBlobClient,
  body: AsyncIterable<Uint8Array>,
  { contentType, metadata, ifMatch, signal }: Upload,
): Promise<Created | Replaced | Conflict> {
  const conditions = ifMatch === undefined ? noneMatch : ifMatchOf(ifMatch);
  // Metadata is known only when the body has ended.
  const writeNow = (): BlobWrite => ({
    signal,
    ...(contentType === undefined ? {} : { contentType }),
    metadata: metadata?.() ?? {},
  });
  const blocks = blocksOf(body);
  try {
    const first = await blocks.next();
    const second = first.done === true ? first : await blocks.next();
    if (second.done === true) {
      const bytes = first.done === true ? new Uint8Array() : first.value;
      return await writeOutcome(putBlob(blob, bytes, writeNow(), conditions), ifMatch);
    }
    const begun = [first.value as Uint8Array, second.value];
    const ids = await stageAll(blob, begun, blocks, signal);
    const commit = call(`Put Block List ${whereOf(blob)}`, { signal }, async (abortSignal) =>
      replacedBy(await blob.commitBlockList(ids, { abortSignal, conditions, ...headersOf(writeNow()) })),
    );
    return await writeOutcome(commit, ifMatch);
  } finally {
    await blocks.return(undefined);
  }
}

function writeOutcome(
  written: Promise<Replaced>,
  ifMatch: string | undefined,
): Promise<Created | Replaced | Conflict> {
  if (ifMatch !== undefined) return withOutcomes(written, replaceOutcomes);
  const created = written.then((answer) => ({ ...answer, kind: "created" as const }));
  return withOutcomes(created, createOutcomes);
}

/** Stages the blocks. The first failure ends it. */
async function stageAll(
  blob: BlockBlobClient,
  begun: readonly Uint8Array[],
  blocks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const upload = randomUUID();
  async function* all(): AsyncGenerator<Uint8Array> {
    for (const bytes of begun) yield bytes;
    yield* blocks;
  }
  const stageOne = async (bytes: Uint8Array, index: number): Promise<string> => {
    const id = Buffer.from(`${upload}-${String(index).padStart(5, "0")}`).toString("base64");
    const stage = (abortSignal: AbortSignal) => blob.stageBlock(id, bytes, bytes.length, { abortSignal });
    await call(`Put Block ${whereOf(blob)}`, { signal }, stage, bytes.length);
    return id;
  };
  return await pMap(all(), stageOne, { concurrency: uploadBlocksAtOnce });
}
