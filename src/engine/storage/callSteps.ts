import { createHash } from "node:crypto";
import type { ZodType } from "zod";
import { decodeJson } from "../model/decode.ts";
import { StorageError } from "../model/errors.ts";
import { documentHash } from "../model/storedSpec.ts";
import type { CallOptions } from "./calls.ts";
import type { BlobStore, BlobWrite, Clock, ListOptions, ListPage } from "./ports.ts";

/** What leaders and workers do with storage in more than one place, by calls of its ports. */

type At = readonly [container: string, name: string];

/** A document as it was read, with storage's times of its last write and of the read. */
export interface StoredDocument<T> {
  readonly value: T;
  /** Of its bytes, in hex. */
  readonly sha256: string;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly dateMs: number;
}

/** Undefined where there is no such blob. Throws `CorruptDataError` or `OtherVersionError` as `decodeJson` does. */
export async function readDocument<T>(
  blobs: Pick<BlobStore, "read">,
  [container, name]: At,
  schema: ZodType<T>,
  options?: CallOptions,
): Promise<StoredDocument<T> | undefined> {
  const found = await blobs.read(container, name, options);
  if (found.kind === "missing") return undefined;
  const { etag, lastModifiedMs } = found.properties;
  const value = decodeJson(schema, found.body, name);
  return { value, sha256: documentHash(found.body), etag, lastModifiedMs, dateMs: found.dateMs };
}

/**
 * Whether a blob has these bytes. They are read back and hashed, because whoever writes a blob states its metadata and its
 * MD5. False for one that is not there, or is not the version `ifMatch`.
 */
export async function holdsBytes(
  blobs: Pick<BlobStore, "stream">,
  [container, name]: At,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: () => Promise<string> | string },
  options?: CallOptions & { readonly ifMatch?: string },
): Promise<boolean> {
  const found = await blobs.stream(container, name, options);
  if (found.kind !== "found") return false;
  const hash = createHash("sha256");
  for await (const piece of found.body) {
    if (found.properties.bytes !== bytes) return false;
    hash.update(piece);
  }
  return found.properties.bytes === bytes && hash.digest("hex") === (await sha256());
}

/** Creates a blob, or else replaces the version that is there. One that changes or goes meanwhile is left as it is. */
export async function createOrReplace(
  blobs: BlobStore,
  [container, name]: At,
  body: string | Uint8Array,
  write: BlobWrite,
): Promise<void> {
  if ((await blobs.create(container, name, body, write)).kind === "created") return;
  const there = await blobs.head(container, name);
  if (there.kind === "missing") return;
  await blobs.replace(container, name, body, { ...write, ifMatch: there.properties.etag });
}

/** The pages of a list of blobs. */
export const pagesOf = (
  blobs: BlobStore,
  container: string,
  prefix: string,
  options?: Omit<ListOptions, "cursor">,
): AsyncGenerator<ListPage> => pages((cursor) => blobs.list(container, prefix, { ...options, cursor }));

/** Pages one at a time, so that of a long list only what is wanted is kept. One may be empty and not the last. */
export async function* pages<P extends { readonly cursor?: string | undefined }>(
  list: (cursor: string | undefined) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    yield page;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/**
 * Repeats a storage call that is busy, within `endRetryMs`. What an attempt leaves behind decides how its send counts:
 * a send that leaves nothing counts as one that ended its process.
 */
export async function persist<T>(
  { clock, endRetryMs }: { readonly clock: Clock; readonly endRetryMs: number },
  call: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + endRetryMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await call();
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || clock.monotonicMs() + pauseMs > untilMs) throw error;
      await clock.sleep(pauseMs);
    }
  }
}
