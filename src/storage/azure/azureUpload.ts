import { createHash, randomUUID } from "node:crypto";
import type { BlobHTTPHeaders, BlobUploadCommonResponse, BlockBlobClient } from "@azure/storage-blob";
import type { BlobStore, Conflict, Created, Replaced } from "../ports.ts";
import { blocksOf, uploadBlocksAtOnce } from "../uploadBlocks.ts";
import { azureCalls, createOutcomes, ifMatchOf, metadataOf, noneMatch, replacedBy } from "./azureCalls.ts";
import { withOutcomes } from "./storageErrors.ts";

const call = azureCalls("blob");
const conflict = { kind: "conflict" } as const;

type Upload = NonNullable<Parameters<BlobStore["upload"]>[3]>;

/**
 * A body that fits in one block is one Put Blob; of a larger one the blocks are staged, a few at a time, and made a
 * blob by one Put Block List. Block names begin with an id of this upload: what another one stages never gets into it.
 */
export async function uploadBody(
  blob: BlockBlobClient,
  where: string,
  body: AsyncIterable<Uint8Array>,
  write: Upload,
): Promise<Created | Replaced | Conflict> {
  const { ifMatch } = write;
  const ends = (abortSignal: AbortSignal, headers: BlobHTTPHeaders = {}) => ({
    abortSignal,
    conditions: ifMatch === undefined ? noneMatch : ifMatchOf(ifMatch),
    blobHTTPHeaders: { ...headers, blobContentType: write.contentType ?? "application/octet-stream" },
    metadata: metadataOf(write.metadata?.()),
  });
  const blocks = blocksOf(body);
  try {
    const first = await blocks.next();
    const second = first.done === true ? first : await blocks.next();
    if (second.done === true) {
      const bytes = first.done === true ? new Uint8Array() : first.value;
      const put = call(
        `Put Blob ${where}`,
        write,
        ({ signal }) => blob.upload(bytes, bytes.length, ends(signal)),
        bytes.length,
      );
      return await outcomeOf(put, ifMatch);
    }
    const begun = [first.value as Uint8Array, second.value];
    const { ids, md5 } = await stageAll(blob, where, begun, blocks, write);
    const commit = call(`Put Block List ${where}`, write, ({ signal }) =>
      blob.commitBlockList(ids, ends(signal, { blobContentMD5: md5 })),
    );
    return await outcomeOf(commit, ifMatch);
  } finally {
    await blocks.return(undefined);
  }
}

function outcomeOf(
  written: Promise<BlobUploadCommonResponse>,
  ifMatch: string | undefined,
): Promise<Created | Replaced | Conflict> {
  return ifMatch === undefined
    ? withOutcomes(
        written.then((answer) => ({ ...replacedBy(answer), kind: "created" as const })),
        createOutcomes,
      )
    : withOutcomes(written.then(replacedBy), { ConditionNotMet: conflict, BlobNotFound: conflict });
}

/**
 * Stages the blocks in their order; the first failure ends it, once the others are over. The service computes no MD5
 * of a list of blocks, so it is given.
 */
async function stageAll(
  blob: BlockBlobClient,
  where: string,
  begun: readonly Uint8Array[],
  blocks: AsyncIterable<Uint8Array>,
  write: Upload,
): Promise<{ readonly ids: string[]; readonly md5: Uint8Array }> {
  const upload = randomUUID();
  const ids: string[] = [];
  const md5 = createHash("md5");
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  for await (const bytes of following(begun, blocks)) {
    const id = Buffer.from(`${upload}-${String(ids.length).padStart(5, "0")}`).toString("base64");
    ids.push(id);
    md5.update(bytes);
    const staged = call(
      `Put Block ${where}`,
      write,
      ({ signal }) => blob.stageBlock(id, bytes, bytes.length, { abortSignal: signal }),
      bytes.length,
    )
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .then(() => void running.delete(staged));
    running.add(staged);
    if (running.size >= uploadBlocksAtOnce) await Promise.race(running);
    if (failure !== undefined) break;
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
  return { ids, md5: md5.digest() };
}

async function* following(
  begun: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* begun;
  yield* rest;
}
