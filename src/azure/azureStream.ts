import type { Readable } from "node:stream";
import type { BlobDownloadResponseParsed, BlockBlobClient } from "@azure/storage-blob";
import { checkBytes } from "../engine/model/decode.ts";
import { StorageError } from "../engine/model/errors.ts";
import { limits } from "../engine/model/limits.ts";
import type { CallOptions } from "../engine/storage/calls.ts";
import type { BlobStore, Found } from "../engine/storage/ports.ts";
import { failureOf, storageError } from "../engine/storage/storageErrors.ts";
import { type AzureCall, beginCall, dateMsOf, ifMatchOf, propertiesOf } from "./azureCalls.ts";
import { freeing } from "./shortLived.ts";

type StreamOptions = NonNullable<Parameters<BlobStore["stream"]>[2]>;

const resumesMax = 3;

/** One Get Blob, its body whole. */
export async function downloadBody(
  blob: BlockBlobClient,
  options: CallOptions = {},
): Promise<Found & { readonly body: Uint8Array }> {
  const answer = await downloadStream(blob, options);
  const { bytes } = answer.properties;
  // The body is left, which ends its request.
  if (bytes > limits.documentBytesMax) for await (const _ of answer.body) break;
  checkBytes(bytes, blob.name);
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body) pieces.push(piece);
  return { ...answer, body: new Uint8Array(Buffer.concat(pieces)) };
}

/**
 * One Get Blob whose body is passed on as it comes. The reader sets the pace: the cap holds while bytes are awaited,
 * not while they are used. A broken connection is resumed at the same offset, under the ETag of the first answer; the
 * SDK's own resuming does not do that for a socket that closes.
 */
export async function downloadStream(
  blob: BlockBlobClient,
  options: StreamOptions,
): Promise<Found & { readonly body: AsyncIterable<Uint8Array> }> {
  const { offset = 0, count, ifMatch } = options;
  const call = beginCall(options.signal);
  const what = `Get Blob ${blob.containerName}/${blob.name}`;
  const open = (received: number, etag: string | undefined) =>
    blob.download(offset + received, count === undefined ? undefined : count - received, {
      abortSignal: call.signal,
      maxRetryRequests: 0,
      conditions: ifMatchOf(etag),
    });
  try {
    const answer = await open(0, ifMatch);
    call.uncap();
    const body = bodyOf(
      answer,
      (received) => open(received, answer.etag),
      call,
      (error) => bodyFailureOf(error, what, options.signal, call),
    );
    return {
      kind: "found",
      dateMs: dateMsOf(answer),
      properties: propertiesOf(answer, wholeBytesOf(answer)),
      body: options.transient === true ? freeing(body) : body,
    };
  } catch (error) {
    call.end();
    throw failureOf(error, "blob", what, options.signal);
  }
}

async function* bodyOf(
  first: BlobDownloadResponseParsed,
  reopen: (received: number) => Promise<BlobDownloadResponseParsed>,
  call: AzureCall,
  failure: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  const expected = first.contentLength ?? 0;
  let source = sourceOf(first);
  let received = 0;
  let resumes = 0;
  try {
    // To the very end, and not only to the last byte: a connection left earlier is not reused.
    for (;;) {
      try {
        call.progress();
        const piece = await source.pieces.next();
        call.uncap();
        if (piece.done === true && received >= expected) return;
        if (piece.done === true) throw new Error("the body is too short");
        received += piece.value.byteLength;
        yield piece.value;
      } catch (error) {
        if (received >= expected) return;
        if (call.signal.aborted || resumes === resumesMax) throw error;
        resumes += 1;
        source.stream.destroy();
        source = sourceOf(await reopen(received));
      }
    }
  } catch (error) {
    throw failure(error);
  } finally {
    source.stream.destroy();
    call.end();
  }
}

function sourceOf(answer: BlobDownloadResponseParsed) {
  const stream = answer.readableStreamBody as unknown as Readable;
  return { stream, pieces: stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array> };
}

/** Whatever ends a body that had begun, reading the blob again helps, unless it is gone or denied. */
function bodyFailureOf(
  error: unknown,
  what: string,
  callerSignal: AbortSignal | undefined,
  call: AzureCall,
): unknown {
  const brokeOff = () => storageError({ service: "blob", detail: `${what} broke off`, cause: error });
  if (error instanceof Error && error.name === "AbortError" && !call.signal.aborted) return brokeOff();
  const failure = failureOf(error, "blob", what, callerSignal);
  const changed = failure instanceof StorageError && failure.storageCode === "ConditionNotMet";
  return failure === error || changed ? brokeOff() : failure;
}

/** `Content-Range: bytes 0-9/100` names the whole; without a range the content length is the whole. */
function wholeBytesOf(answer: { readonly contentRange?: string; readonly contentLength?: number }): number {
  const whole = /\/(\d+)$/.exec(answer.contentRange ?? "")?.[1];
  return whole === undefined ? (answer.contentLength ?? 0) : Number(whole);
}
