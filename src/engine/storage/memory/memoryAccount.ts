import type { BillingClass } from "../../model/calls.ts";
import type { StorageError } from "../../model/errors.ts";
import { type CallOptions, callMeter } from "../calls.ts";
import type { BlobProperties, BlobWrite, Clock, Metadata, Random } from "../ports.ts";
import { storageErrorOfCode } from "../storageErrors.ts";
import { throwIfAborted } from "../system.ts";
import {
  type BlobLease,
  type LeaseRequest,
  leaseAfterWrite,
  noLease,
  refusalOfWrite,
  requestLease,
} from "./leaseTable.ts";
import { type SortedList, sortedList } from "./sortedList.ts";

export interface MemoryBlob {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly metadata: Metadata;
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly lease: BlobLease;
}

export type MemoryContent = Pick<MemoryBlob, "body" | "contentType" | "metadata">;

interface MemoryContainer {
  readonly blobs: Map<string, MemoryBlob>;
  /** The names in lexical order, for lists. */
  readonly names: SortedList<string>;
}

/** What the ports of one in-memory account share: its containers, clock, randomness and meter. */
export class MemoryAccount {
  readonly meter = callMeter();
  readonly random: Random;
  readonly containers = new Map<string, MemoryContainer>();
  readonly #clock: Clock;
  #tags = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.random = random;
  }

  /** The exact time, for leases and visibility. */
  nowMs(): number {
    return this.#clock.wallMs();
  }

  /** The time as the service reports it: HTTP dates carry whole seconds. */
  dateMs(): number {
    return wholeSeconds(this.nowMs());
  }

  /** A new tag, for ETags and pop receipts. */
  nextTag(): string {
    this.#tags += 1;
    return `0x8DE${this.#tags.toString(16).toUpperCase().padStart(12, "0")}`;
  }

  /** Throws for a call that is already canceled, before any effect; counts any other. */
  begin(billingClass: BillingClass, options: CallOptions | undefined): void {
    throwIfAborted(options?.signal);
    this.meter.count(billingClass);
  }

  createContainer(name: string): "created" | "existed" {
    checkResourceName(name);
    if (this.containers.has(name)) return "existed";
    const names = sortedList<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    this.containers.set(name, { blobs: new Map(), names });
    return "created";
  }

  container(name: string): MemoryContainer {
    const container = this.containers.get(name);
    if (container === undefined) throw refuse(404, "ContainerNotFound", name);
    return container;
  }

  find(container: string, name: string): MemoryBlob | undefined {
    return this.container(container).blobs.get(name);
  }

  /** Throws where the blob is missing, or has another ETag than `ifMatch`. */
  present(container: string, name: string, ifMatch?: string): MemoryBlob {
    const blob = this.find(container, name);
    if (blob === undefined) throw refuse(404, "BlobNotFound", name);
    if (ifMatch !== undefined && ifMatch !== blob.etag) throw refuse(412, "ConditionNotMet", name);
    return blob;
  }

  /** Lease requests never change ETag or date. */
  lease(container: string, name: string, request: LeaseRequest, ifMatch?: string): void {
    const blob = this.present(container, name, ifMatch);
    const answer = requestLease(blob.lease, request, this.nowMs());
    if ("refusal" in answer) throw refuse(409, answer.refusal, name);
    this.container(container).blobs.set(name, { ...blob, lease: answer.lease });
  }

  /** Stores the blob: a new ETag and date; the lease is kept or ended as the lease table says. */
  put(container: string, name: string, content: MemoryContent): MemoryBlob {
    const { blobs, names } = this.container(container);
    const before = blobs.get(name);
    const nowMs = this.nowMs();
    const blob: MemoryBlob = {
      ...content,
      etag: this.nextTag(),
      lastModifiedMs: wholeSeconds(nowMs),
      lease: before === undefined ? noLease : leaseAfterWrite(before.lease, nowMs),
    };
    blobs.set(name, blob);
    if (before === undefined) names.insert(name);
    return blob;
  }

  drop(container: string, name: string): void {
    const { blobs, names } = this.container(container);
    if (blobs.delete(name)) names.remove(name);
  }

  /** Why the lease on this blob refuses a write with this lease id, if it does. */
  refusalOfLease(blob: MemoryBlob, leaseId?: string): StorageError | undefined {
    const refusal = refusalOfWrite(blob.lease, leaseId?.toLowerCase(), this.nowMs());
    return refusal === undefined ? undefined : refuse(412, refusal);
  }

  checkLease(blob: MemoryBlob, leaseId?: string): void {
    const refusal = this.refusalOfLease(blob, leaseId);
    if (refusal !== undefined) throw refusal;
  }
}

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** The error the real service's refusal would have become. */
export const refuse = (status: number, code: string, detail = "") =>
  storageErrorOfCode("memory", code, status, detail);

/** Containers and queues: 3 to 63 lower-case letters, digits and single dashes (Naming and Referencing Containers). */
export function checkResourceName(name: string): void {
  if (name.length < 3 || name.length > 63) throw refuse(400, "OutOfRangeInput", name);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) throw refuse(400, "InvalidResourceName", name);
}

/** Names and values together may take 8 KB; names are C# identifiers (Setting and Retrieving Metadata). */
export function checkedMetadata(metadata: Metadata = none): Metadata {
  if (metadata === none) return none;
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

const none: Metadata = Object.freeze({});

export const contentOf = (body: Uint8Array | string, write: BlobWrite | undefined): MemoryContent => ({
  // A copy: the caller may reuse its buffer.
  body: typeof body === "string" ? bytesOf(body) : body.slice(),
  contentType: write?.contentType ?? "application/octet-stream",
  metadata: checkedMetadata(write?.metadata),
});

/** Many small texts share one buffer, so that a million of them stay cheap. */
function bytesOf(text: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(text);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export const propertiesOf = ({
  body,
  contentType,
  metadata,
  etag,
  lastModifiedMs,
}: MemoryBlob): BlobProperties => ({ etag, lastModifiedMs, bytes: body.byteLength, contentType, metadata });
