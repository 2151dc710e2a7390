import { createHash } from "node:crypto";
import type { ListedBlob } from "../../storage/ports.ts";
import type { Client } from "../client.ts";
import { inPlaces } from "../places.ts";
import { sha256OfFile } from "./fileBody.ts";
import type { LocalFile } from "./localFiles.ts";

/** What is in the container of inputs by name; nothing where there is no container yet, which is then made. */
export async function blobsUnder(
  client: Client,
  prefix: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, ListedBlob>> {
  const there = new Map<string, ListedBlob>();
  let cursor: string | undefined;
  do {
    const options = { metadata: true, cursor, signal };
    const page = await inPlaces(client, () =>
      client.storage.blobs.list(client.names.inputs, prefix, options),
    );
    for (const blob of page.blobs) there.set(blob.name, blob);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return there;
}

/** Whether a blob holds this file: by the hash that an upload leaves, or by its bytes where another tool wrote it. */
export async function isSame(
  client: Client,
  local: LocalFile,
  blob: ListedBlob,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (blob.bytes !== local.bytes) return false;
  const known = blob.metadata["sha256"] ?? (await sha256OfBlob(client, blob, signal));
  return known === (await sha256OfFile(local));
}

async function sha256OfBlob(
  { storage, names }: Client,
  { name, etag }: ListedBlob,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const found = await storage.blobs.stream(names.inputs, name, { ifMatch: etag, signal });
  if (found.kind !== "found") return undefined;
  const hash = createHash("sha256");
  for await (const piece of found.body) hash.update(piece);
  return hash.digest("hex");
}
