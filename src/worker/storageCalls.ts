import { StorageError } from "../model/errors.ts";
import type { BlobStore, BlobWrite, ListOptions, ListPage } from "../storage/ports.ts";
import type { WorkerPorts } from "./ports.ts";

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/**
 * Repeats a storage call that is busy, within `endRetryMs`. What an attempt leaves behind decides how its send counts:
 * a send that leaves nothing counts as one that ended its process.
 */
export async function persist<T>({ clock, endRetryMs }: WorkerPorts, call: () => Promise<T>): Promise<T> {
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

/** Creates a blob, or else replaces the version that is there. One that changes or goes meanwhile is left as it is. */
export async function createOrReplace(
  blobs: BlobStore,
  [container, name]: readonly [container: string, name: string],
  body: string,
  write: BlobWrite,
): Promise<void> {
  if ((await blobs.create(container, name, body, write)).kind === "created") return;
  const there = await blobs.head(container, name);
  if (there.kind === "missing") return;
  await blobs.replace(container, name, body, { ...write, ifMatch: there.properties.etag });
}

/** The pages of a list, one at a time, so that of a long list only what is wanted is kept. */
export async function* pagesOf(
  blobs: BlobStore,
  container: string,
  prefix: string,
  options?: Pick<ListOptions, "metadata">,
): AsyncGenerator<ListPage> {
  let cursor: string | undefined;
  do {
    const page = await blobs.list(container, prefix, { ...options, cursor });
    yield page;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
