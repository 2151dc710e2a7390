import type { BlobProperties, BlobWrite } from "../ports.ts";
import { type BlobLease, leaseAfterWrite, noLease, refusalOfWrite } from "./leaseTable.ts";
import { type MemoryService, refuse, wholeSeconds } from "./memoryService.ts";
import { type SortedList, sortedList } from "./sortedList.ts";

export interface MemoryBlob {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly lease: BlobLease;
}

export interface MemoryContainer {
  readonly blobs: Map<string, MemoryBlob>;
  /** The names in lexical order, for lists. */
  readonly names: SortedList<string>;
}

export type MemoryContainers = Map<string, MemoryContainer>;

export const newContainer = (): MemoryContainer => ({
  blobs: new Map(),
  names: sortedList<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
});

export function containerOf(containers: MemoryContainers, name: string): MemoryContainer {
  const container = containers.get(name);
  if (container === undefined) throw refuse(404, "ContainerNotFound", name);
  return container;
}

/** Stores the blob: a new ETag and date, the lease kept as the rules say. */
export function putBlob(
  service: MemoryService,
  container: MemoryContainer,
  name: string,
  content: MemoryContent,
): MemoryBlob {
  const before = container.blobs.get(name);
  const nowMs = service.nowMs();
  const blob: MemoryBlob = {
    ...content,
    etag: service.nextTag(),
    lastModifiedMs: wholeSeconds(nowMs),
    lease: before === undefined ? noLease : leaseAfterWrite(before.lease, nowMs),
  };
  container.blobs.set(name, blob);
  if (before === undefined) container.names.insert(name);
  return blob;
}

export function dropBlob(container: MemoryContainer, name: string): void {
  if (container.blobs.delete(name)) container.names.remove(name);
}

/** Throws when the lease on this blob does not let a write with this lease id pass. */
export function checkLease(service: MemoryService, blob: MemoryBlob, leaseId?: string): void {
  const refusal = refusalOfWrite(blob.lease, leaseId?.toLowerCase(), service.nowMs());
  if (refusal !== undefined) throw refuse(412, refusal);
}

/** Names and values together may take 8 KB; names are C# identifiers (Setting and Retrieving Metadata). */
export function checkedMetadata(
  metadata: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata ?? {}).map(([key, value]) => [key.toLowerCase(), value] as const);
  for (const [key, value] of entries) {
    if (key === "") throw refuse(400, "EmptyMetadataKey");
    if (!/^[a-z_][a-z0-9_]*$/.test(key)) throw refuse(400, "InvalidMetadata", key);
    // The values travel as HTTP headers, which lose or refuse anything else.
    if (!/^([!-~]([ -~]*[!-~])?)?$/.test(value)) throw refuse(400, "InvalidMetadata", `value of ${key}`);
  }
  const bytes = entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (bytes > 8192) throw refuse(400, "MetadataTooLarge", `${bytes} bytes`);
  return Object.fromEntries(entries);
}

export type MemoryContent = Pick<MemoryBlob, "body" | "contentType" | "metadata">;

export const contentOf = (body: Uint8Array | string, write: BlobWrite | undefined): MemoryContent => ({
  // A copy: the caller may go on using its buffer.
  body: typeof body === "string" ? new TextEncoder().encode(body) : body.slice(),
  contentType: write?.contentType ?? "application/octet-stream",
  metadata: checkedMetadata(write?.metadata),
});

export const propertiesOf = (blob: MemoryBlob): BlobProperties => ({
  etag: blob.etag,
  lastModifiedMs: blob.lastModifiedMs,
  bytes: blob.body.byteLength,
  contentType: blob.contentType,
  metadata: blob.metadata,
});
