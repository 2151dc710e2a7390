import type { CallMeter, CallOptions } from "./calls.ts";
import type { AboutService, QueueStore } from "./queuePort.ts";

/**
 * What Leasefold asks of storage, and nothing more. Two implementations stand behind these ports:
 * the Azure SDKs (`azureBlobs.ts`, `azureQueues.ts`) and an in-memory twin (`memory/`); one contract
 * suite (`test/contract`) holds both to the same behaviour.
 *
 * Not promised: that a call which failed had no effect. A thrown `StorageError` of kind `busy`, like an AbortError,
 * may have been carried out; callers repeat the same bytes or read back. Nor that a call was made once: outside of
 * leases the SDK repeats what got no answer, so `existed`, `conflict`, `missing` and `gone` may be the work of an
 * earlier try of the same call, and a message may be sent twice.
 *
 * Expected outcomes are values. Everything else is thrown as `StorageError` with the service's code; so is a container
 * that is not there (`refused`, `ContainerNotFound`), because that never means that a blob is missing; and so is a
 * blob name with a segment `.` or `..` (`refused`, `InvalidResourceName`), before any request.
 */

/** All times are the storage service's own, in ms since the epoch, with a resolution of one second. */
export interface BlobProperties {
  /** Without quotes, whatever the service sent. */
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly bytes: number;
  readonly contentType: string;
  /** MD5 of the content in base64, where the service knows it, as after `create` and `upload`; the twin never does. */
  readonly md5?: string;
  /** Keys are lower case. Empty where a list was asked for without metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface BlobWrite extends CallOptions {
  readonly contentType?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type Missing = { readonly kind: "missing" };
export type Conflict = { readonly kind: "conflict" };
export type Created =
  | { readonly kind: "created"; readonly etag: string; readonly dateMs: number }
  | { readonly kind: "existed" };
export type Replaced = { readonly kind: "replaced"; readonly etag: string; readonly dateMs: number };
export type Found = { readonly kind: "found"; readonly dateMs: number; readonly properties: BlobProperties };
export type Removed = "removed" | "missing" | "conflict";

export interface ListedBlob extends BlobProperties {
  readonly name: string;
}

export interface ListPage {
  readonly blobs: readonly ListedBlob[];
  /** Hand it back to get the next page; absent on the last one. */
  readonly cursor?: string;
  readonly dateMs: number;
}

export interface FolderPage {
  /** Each ends in `/`. */
  readonly folders: readonly string[];
  /** Hand it back to get the next page; absent on the last one. A page may be empty and not the last. */
  readonly cursor?: string;
  readonly dateMs: number;
}

export interface ListOptions extends CallOptions {
  /** Also return each blob's metadata (same price). */
  readonly metadata?: boolean;
  readonly cursor?: string | undefined;
  /** 1–5,000, default 5,000. */
  readonly pageSize?: number;
}

export interface BlobStore {
  ensureContainer(container: string, options?: CallOptions): Promise<"created" | "existed">;
  /** One Put Blob with `If-None-Match: *`: the first writer wins. */
  create(container: string, name: string, body: Uint8Array | string, write?: BlobWrite): Promise<Created>;
  /** One Put Blob with `If-Match`. `conflict` also when the blob is gone. */
  replace(
    container: string,
    name: string,
    body: Uint8Array | string,
    write: BlobWrite & { readonly ifMatch: string },
  ): Promise<Replaced | Conflict>;
  /**
   * Writes a body of any size as it comes, holding 20 MB of it at most; its pieces must not be changed afterwards. The
   * blob appears when the body has ended, whole; one that throws leaves nothing that a reader could see. Creates as
   * `create` does, or replaces the version `ifMatch`. `metadata` is asked for at the end, so that it may tell of the
   * body. One write up to 4 MB, beyond that one for each 4 MB begun and one more.
   */
  upload(
    container: string,
    name: string,
    body: AsyncIterable<Uint8Array>,
    write?: CallOptions & {
      readonly contentType?: string;
      readonly metadata?: () => Readonly<Record<string, string>>;
      readonly ifMatch?: string | undefined;
    },
  ): Promise<Created | Replaced | Conflict>;
  read(
    container: string,
    name: string,
    options?: CallOptions,
  ): Promise<(Found & { readonly body: Uint8Array }) | Missing>;
  /**
   * Streams the body, or `count` (at least 1) bytes from `offset`, which must lie within; `properties.bytes` is always
   * the whole blob's. `conflict` only with `ifMatch`. The body must be read to its end or left by `break`.
   */
  stream(
    container: string,
    name: string,
    options?: CallOptions & { readonly offset?: number; readonly count?: number; readonly ifMatch?: string },
  ): Promise<(Found & { readonly body: AsyncIterable<Uint8Array> }) | Missing | Conflict>;
  head(container: string, name: string, options?: CallOptions): Promise<Found | Missing>;
  /** Replaces the whole metadata and keeps content and content type. `conflict` when the ETag moved or the blob is gone. */
  setMetadata(
    container: string,
    name: string,
    metadata: Readonly<Record<string, string>>,
    options: CallOptions & { readonly ifMatch: string },
  ): Promise<Replaced | Conflict>;
  /** In lexical order of the names. A page may hold fewer blobs than asked for, even none, and still have a cursor. */
  list(container: string, prefix: string, options?: ListOptions): Promise<ListPage>;
  /** The folders directly below `prefix` (which is empty or ends in `/`), in order. Blobs beside them are left out. */
  listFolders(
    container: string,
    prefix: string,
    options?: Omit<ListOptions, "metadata">,
  ): Promise<FolderPage>;
  /** `conflict` only with `ifMatch`. With it, a blob that is gone may be `conflict` as well as `missing`. */
  remove(
    container: string,
    name: string,
    options?: CallOptions & { readonly ifMatch?: string },
  ): Promise<Removed>;
  /**
   * Removes all of these blobs, as many as one likes, in few requests and in no order; one that is gone is no error.
   * One that the service refuses to remove, such as a leased one, does not spare the others: every name is tried, then
   * the first refusal is thrown. Any other failure (`busy`, `denied`, no container) ends the call with the rest undone.
   */
  removeMany(container: string, names: readonly string[], options?: CallOptions): Promise<void>;
}

export type LeaseState = "available" | "leased" | "expired" | "breaking" | "broken";

/** A blob seen as a lease: its record is its metadata, its content stays empty. */
export interface LeaseView {
  readonly kind: "found";
  /** The service's `Date` of this answer. */
  readonly dateMs: number;
  readonly lastModifiedMs: number;
  readonly etag: string;
  readonly leaseState: LeaseState;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Lease calls on one blob. They are never repeated by the SDK: who repeats what, and when to stop, is the
 * election's own policy. Whatever the service refuses is thrown as `StorageError`, to be judged by its code.
 */
export interface LeaseStore {
  /** Makes the container and the empty blob where they are missing. */
  ensure(options?: CallOptions): Promise<void>;
  /** `missing` also where the container is not there: `ensure` makes both. */
  view(options?: CallOptions): Promise<LeaseView | Missing>;
  /** `durationS` 15–60. The id is the client's, a GUID; the same id again renews the grant. */
  acquire(
    leaseId: string,
    durationS: number,
    options?: CallOptions & { readonly ifMatch?: string },
  ): Promise<void>;
  renew(leaseId: string, options?: CallOptions): Promise<void>;
  release(leaseId: string, options?: CallOptions): Promise<void>;
  /** Breaks at once (period 0), whoever holds it. */
  breakNow(options?: CallOptions & { readonly ifMatch?: string }): Promise<void>;
  /** Replaces the metadata under the lease id, with `If-Match` where given. Gives the new ETag. */
  writeRecord(
    leaseId: string,
    metadata: Readonly<Record<string, string>>,
    options?: CallOptions & { readonly ifMatch?: string },
  ): Promise<{ readonly etag: string }>;
}

/** What somebody keeps in a leased blob, as it was at one moment. */
export interface LeasedContent {
  readonly kind: "found";
  readonly body: Uint8Array;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The same for a blob that also has content. An election keeps its blob empty and needs none of this. */
export interface ContentLease extends LeaseStore {
  /** `missing` also where the container is not there. Needs no lease. */
  readContent(options?: CallOptions): Promise<LeasedContent | Missing>;
  /** One Put Blob under the lease id and `If-Match`: content and metadata are replaced together. */
  writeContent(
    leaseId: string,
    body: Uint8Array | string,
    write: BlobWrite & { readonly ifMatch: string },
  ): Promise<{ readonly etag: string }>;
}

/** Time as code may see it. Only `monotonicMs` measures, only `wallMs` is shown or logged. */
export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
  /** Resolves after `ms`, or as soon as the signal fires; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms`; the returned function takes it back. Does not keep the process alive. */
  after(ms: number, fire: () => void): () => void;
}

export interface Random {
  uuid(): string;
  /** In [0, 1). */
  number(): number;
}

/** The storage of one installation, with what its calls have cost so far. */
export interface Storage {
  readonly blobs: BlobStore;
  readonly queues: QueueStore;
  lease(container: string, blob: string): ContentLease;
  readonly meter: CallMeter;
  /** For diagnosis only; absent where no service is behind it. */
  readonly about?: AboutService;
}
