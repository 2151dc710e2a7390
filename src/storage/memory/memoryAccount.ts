import type { BillingClass } from "../../model/calls.ts";
import type { StorageError } from "../../model/errors.ts";
import { storageErrorOfCode } from "../azure/storageErrors.ts";
import type { CallMeter, CallOptions } from "../calls.ts";
import type { BlobProperties, BlobWrite, Clock, Random } from "../ports.ts";
import { throwIfAborted } from "../system.ts";
import { type BlobLease, leaseAfterWrite, noLease, refusalOfWrite } from "./leaseTable.ts";
import { type SortedList, sortedList } from "./sortedList.ts";

/** What the parts of one in-memory account share. */
export interface MemoryService {
  readonly meter: CallMeter;
  readonly random: Random;
  /** The exact time, for leases and visibility. */
  nowMs(): number;
  /** The time as the service reports it: HTTP dates carry whole seconds. */
  dateMs(): number;
  /** A new tag, for ETags and pop receipts. */
  nextTag(): string;
  /** Throws for a call that is already canceled, before any effect; counts any other. */
  begin(billingClass: BillingClass, options: CallOptions | undefined): void;
}

export function memoryService(clock: Clock, random: Random, meter: CallMeter): MemoryService {
  let tags = 0;
  return {
    meter,
    random,
    nowMs: () => clock.wallMs(),
    dateMs: () => wholeSeconds(clock.wallMs()),
    nextTag: () => {
      tags += 1;
      return `0x8DE${tags.toString(16).toUpperCase().padStart(12, "0")}`;
    },
    begin: (billingClass, options) => {
      throwIfAborted(options?.signal);
      meter.count(billingClass);
    },
  };
}

export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** The error the real service's refusal would have become. */
export const refuse = (status: number, code: string, detail = "") =>
  storageErrorOfCode("memory", code, status, detail);

/** Containers and queues: 3 to 63 lower-case letters, digits and single dashes (Naming and Referencing Containers). */
export function checkResourceName(name: string): void {
  if (name.length < 3 || name.length > 63) throw refuse(400, "OutOfRangeInput", name);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) throw refuse(400, "InvalidResourceName", name);
}

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

/** Throws when the lease on this blob refuses a write with this lease id. */
export function checkLease(service: MemoryService, blob: MemoryBlob, leaseId?: string): void {
  const refusal = refusalOfLease(service, blob, leaseId);
  if (refusal !== undefined) throw refusal;
}

/** The refusal of such a write, if any. */
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

/** Many small texts share one buffer, so that a million of them stay cheap. */
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
