import type { StorageError } from "../../model/errors.ts";
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
  const refusal = refusalOfLease(service, blob, leaseId);
  if (refusal !== undefined) throw refusal;
}

/** What such a write is refused with, if it is. */
export function refusalOfLease(
  service: MemoryService,
  blob: MemoryBlob,
  leaseId?: string,
): StorageError | undefined {
  const refusal = refusalOfWrite(blob.lease, leaseId?.toLowerCase(), service.nowMs());
  return refusal === undefined ? undefined : refuse(412, refusal);
}

/** Names and values together may take 8 KB; names are C# identifiers (Setting and Retrieving Metadata). */
export function checkedMetadata(
  metadata: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (metadata === undefined) return none;
  const checked: Record<string, string> = {};
  let bytes = 0;
  for (const [given, value] of Object.entries(metadata)) {
    const key = given.toLowerCase();
    if (key === "") throw refuse(400, "EmptyMetadataKey");
    if (!/^[a-z_][a-z0-9_]*$/.test(key)) throw refuse(400, "InvalidMetadata", key);
    // The values travel as HTTP headers, which lose or refuse anything else.
    if (!/^([!-~]([ -~]*[!-~])?)?$/.test(value)) throw refuse(400, "InvalidMetadata", `value of ${key}`);
    checked[key] = value;
    bytes += key.length + value.length;
  }
  if (bytes > 8192) throw refuse(400, "MetadataTooLarge", `${bytes} bytes`);
  return checked;
}

const none = Object.freeze({});

export type MemoryContent = Pick<MemoryBlob, "body" | "contentType" | "metadata">;

export const contentOf = (body: Uint8Array | string, write: BlobWrite | undefined): MemoryContent => ({
  // A copy: the caller may go on using its buffer.
  body: typeof body === "string" ? bytesOf(body) : body.slice(),
  contentType: write?.contentType ?? "application/octet-stream",
  metadata: checkedMetadata(write?.metadata),
});

/** Many small texts share one piece of memory, which is what makes a million of them cheap. */
function bytesOf(text: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(text);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export const propertiesOf = (blob: MemoryBlob): BlobProperties => ({
  etag: blob.etag,
  lastModifiedMs: blob.lastModifiedMs,
  bytes: blob.body.byteLength,
  contentType: blob.contentType,
  metadata: blob.metadata,
});
