import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { pMapIterable } from "p-map";
import type { ResultBytes } from "../calculation/contract.ts";
import { CalculationError, CorruptDataError } from "../model/errors.ts";
import { type SavedFile, sha256OfFile } from "../model/fileList.ts";
import { resultBlobs } from "../model/runBlobs.ts";
import { uploadBlockBytes, uploadBytesMax } from "../storage/uploadBlocks.ts";
import { type Attempt, StorageLostError, type WorkerPorts } from "./ports.ts";

/**
 * Uploads what a calculation's finish made under a name that this attempt alone has, and returns what the document that
 * names it says of it. Its hash is that of the very bytes that are uploaded: before them, or of a joined result while they
 * pass. An upload that fails may have happened; no document will name it, so it is removed.
 */
export async function uploadResult(ports: WorkerPorts, attempt: Attempt, blob: string, made: ResultBytes) {
  const { blobs } = ports.storage;
  const { results } = ports.names;
  const { body, contentType, joins } = made;
  const sum = createHash("sha256");
  let bytes = 0;
  async function* counted(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      sum.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  try {
    if (joins === undefined) {
      for await (const _ of counted(slicesOf(body)));
      await blobs.create(results, blob, body, { contentType });
    } else {
      await blobs.upload(results, blob, counted(joined(ports, attempt, body, joins)), { contentType });
      // It may have taken minutes.
      attempt.signal.throwIfAborted();
    }
  } catch (error) {
    await removeResult(ports, blob);
    throw error;
  }
  return { blob, contentType, bytes, sha256: sum.digest("hex") };
}

/** Removes a result that no document will ever name. What stays because this fails is deleted with its run. */
export async function removeResult({ storage, names }: WorkerPorts, blob: string): Promise<void> {
  await storage.blobs.remove(names.results, blob).catch(() => {});
}

/** Bytes hashed at once: some 40 ms without SHA instructions. A leader in this process has 0.9 s for a heartbeat. */
const hashedAtOnce = 16 * 1024 * 1024;

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += hashedAtOnce) {
    if (from > 0) await setImmediate();
    yield bytes.subarray(from, from + hashedAtOnce);
  }
}

/** Ranges of files that are read at the same time: small files must not wait for one another. */
const readsAhead = 8;

/**
 * The head, then the bytes of saved files in order, with at most `readsAhead` blocks of them in memory. Throws where a file is gone or
 * is not the one that its name says, and once the work is not wanted any more.
 */
async function* joined(
  { storage, names }: WorkerPorts,
  { message: { run, uid }, signal }: Attempt,
  head: Uint8Array,
  files: readonly SavedFile[],
): AsyncGenerator<Uint8Array> {
  const all = files.reduce((sum, { bytes }) => sum + bytes, head.length);
  if (all > uploadBytesMax) {
    const message = `the result has ${all} bytes; the limit is ${uploadBytesMax} (uploadBytesMax)`;
    throw new CalculationError("result-too-large", message);
  }
  const read = async ({ name, from, count, last }: FileRange) => {
    const blob = resultBlobs(run, uid).file(name);
    const part = { offset: from, count, signal };
    const found = await storage.blobs.stream(names.results, blob, part);
    if (found.kind !== "found") throw new StorageLostError("storage-lost", `${blob} is gone`);
    return { pieces: await Array.fromAsync(found.body), name, last };
  };
  if (head.length > 0) yield head;
  let sum = createHash("sha256");
  for await (const { pieces, name, last } of pMapIterable(rangesOf(files), read, {
    concurrency: readsAhead,
  })) {
    signal.throwIfAborted();
    for (const piece of pieces) {
      sum.update(piece);
      yield piece;
    }
    if (!last) continue;
    if (sum.digest("hex") !== sha256OfFile(name))
      throw new CorruptDataError("result-hash", `a file of ${run} is not the one that was saved: ${name}`);
    sum = createHash("sha256");
  }
}

interface FileRange {
  readonly name: string;
  readonly from: number;
  readonly count: number;
  readonly last: boolean;
}

function* rangesOf(files: readonly SavedFile[]): Generator<FileRange> {
  for (const { name, bytes } of files)
    for (let from = 0; from < bytes; from += uploadBlockBytes) {
      const count = Math.min(uploadBlockBytes, bytes - from);
      yield { name, from, count, last: from + count === bytes };
    }
}
