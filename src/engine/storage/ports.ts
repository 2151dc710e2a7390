import type { CallMeter, CallOptions } from "./calls.ts";
import type { AboutService, QueueStore } from "./queuePort.ts";

/**
 * What Leasefold needs of storage, and nothing more. There are two implementations of these ports:
 * the Azure SDKs (`azureBlobs.ts`, `azureQueues.ts`) and in-memory storage (`memory/`); one contract
 * suite (`test/contract`) tests both for the same behavior.
 *
 * Not promised: that a call which failed had no effect. A thrown `StorageError` of kind `busy`, like an AbortError,
 * may have been carried out; callers repeat the same bytes or read back. Nor that a call was made once: outside of
 * leases the SDK retries calls without an answer, so `existed`, `conflict`, `missing` and `gone` may come from an
 * earlier attempt of the same call, and a message may be sent twice.
 *
 * Expected outcomes are values. Everything else is thrown as `StorageError` with the service's code; so is a missing container
 * (`refused`, `ContainerNotFound`), because that never means that a blob is missing; and so is a
 * blob name with a segment `.` or `..` (`refused`, `InvalidResourceName`), before any request.
 */

/** Keys are lower case. */
export type Metadata = Readonly<Record<string, string>>;

/** All times are the storage service's own, in ms since the epoch, with a resolution of one second. */
export interface BlobProperties {
  /** Without quotes, whatever the service sent. */
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly bytes: number;
  readonly contentType: string;
  /** Empty in a list without metadata. */
  readonly metadata: Metadata;
}

export interface BlobWrite extends CallOptions {
  readonly contentType?: string;
  readonly metadata?: Metadata;
}

type IfMatch = CallOptions & { readonly ifMatch?: string };
type MustMatch = { readonly ifMatch: string };
type Body = Uint8Array | string;

export type Missing = { readonly kind: "missing" };
export type Conflict = { readonly kind: "conflict" };
export type Created =
  | { readonly kind: "created"; readonly etag: string; readonly dateMs: number }
  | { readonly kind: "existed" };
export type Replaced = { readonly kind: "replaced"; readonly etag: string; readonly dateMs: number };
export type Found = { readonly kind: "found"; readonly dateMs: number; readonly properties: BlobProperties };

export interface ListedBlob extends BlobProperties {
  readonly name: string;
}

export interface ListPage {
  readonly blobs: readonly ListedBlob[];
  /** Pass it to get the next page; absent on the last one. */
  readonly cursor?: string;
  readonly dateMs: number;
}

export interface FolderPage extends Omit<ListPage, "blobs"> {
  /** Each ends in `/`. A page may be empty and not the last. */
  readonly folders: readonly string[];
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
  create(container: string, name: string, body: Body, write?: BlobWrite): Promise<Created>;
  /** One Put Blob with `If-Match`. `conflict` also when the blob is gone. */
  replace(
    container: string,
    name: string,
    body: Body,
    write: BlobWrite & MustMatch,
  ): Promise<Replaced | Conflict>;
  /**
   * Writes a body of any size as it comes, with at most 20 MB in memory; its pieces must not be changed afterwards. The
   * blob appears whole when the body has ended; a body that throws leaves nothing that a reader could see. Creates as
   * `create` does, or replaces the version `ifMatch`. `metadata` is called at the end, so that it can describe the
   * body. One write up to 4 MB, beyond that one for each 4 MB begun and one more.
   */
  upload(
    container: string,
    name: string,
    body: AsyncIterable<Uint8Array>,
    write?: CallOptions & {
      readonly contentType?: string;
      readonly metadata?: () => Metadata;
      readonly ifMatch?: string | undefined;
    },
  ): Promise<Created | Replaced | Conflict>;
  /** Throws `CorruptDataError` for more than `documentBytesMax`, before the body is in memory; what may be larger is streamed. */
  read(
    container: string,
    name: string,
    options?: CallOptions,
  ): Promise<(Found & { readonly body: Uint8Array }) | Missing>;
  /**
   * Streams the body, or `count` (at least 1) bytes from `offset`, which must lie within; `properties.bytes` is always
   * the whole blob's. `conflict` only with `ifMatch`. The body must be read to its end or left by `break`. With `transient`
   * a piece of it may be used only until the next one is asked for.
   */
  stream(
    container: string,
    name: string,
    options?: IfMatch & { readonly offset?: number; readonly count?: number; readonly transient?: boolean },
  ): Promise<(Found & { readonly body: AsyncIterable<Uint8Array> }) | Missing | Conflict>;
  head(container: string, name: string, options?: CallOptions): Promise<Found | Missing>;
  /** Replaces the whole metadata and keeps content and content type. `conflict` when the ETag moved or the blob is gone. */
  setMetadata(
    container: string,
    name: string,
    metadata: Metadata,
    options: CallOptions & MustMatch,
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
  remove(container: string, name: string, options?: IfMatch): Promise<"removed" | "missing" | "conflict">;
  /**
   * Deletes any number of blobs, in few requests and in no order; a missing one is no error. If the service refuses
   * one, such as a leased one, every other name is still tried, then the first refusal is thrown. Any other failure
   * (`busy`, `denied`, no container) ends the call with the rest undone.
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
  readonly metadata: Metadata;
}

/**
 * Lease calls on one blob. The SDK never retries them: retries are the election's own policy. Whatever the service
 * refuses is thrown as `StorageError`, to be classified by its code.
 */
export interface LeaseStore {
  /** Creates the container and the empty blob where they are missing. */
  ensure(options?: CallOptions): Promise<void>;
  /** `missing` also where the container is: `ensure` creates both. */
  view(options?: CallOptions): Promise<LeaseView | Missing>;
  /** `durationS` 15–60. The id is the client's, a GUID; the same id again renews the grant. */
  acquire(leaseId: string, durationS: number, options?: IfMatch): Promise<void>;
  renew(leaseId: string, options?: CallOptions): Promise<void>;
  release(leaseId: string, options?: CallOptions): Promise<void>;
  /** Breaks at once (period 0), whoever holds it. */
  breakNow(options?: IfMatch): Promise<void>;
  /** Replaces the metadata under the lease id, with `If-Match` where given. Returns the new ETag. */
  writeRecord(leaseId: string, metadata: Metadata, options?: IfMatch): Promise<{ readonly etag: string }>;
}

/** The content of a leased blob at one time. */
interface LeasedContent {
  readonly kind: "found";
  readonly body: Uint8Array;
  readonly etag: string;
  readonly metadata: Metadata;
}

/** The same for a blob that also has content. An election keeps its blob empty and needs none of this. */
export interface ContentLease extends LeaseStore {
  /** `missing` also where the container is. Needs no lease. */
  readContent(options?: CallOptions): Promise<LeasedContent | Missing>;
  /** One Put Blob under the lease id and `If-Match`: content and metadata are replaced together. */
  writeContent(leaseId: string, body: Body, write: BlobWrite & MustMatch): Promise<{ readonly etag: string }>;
}

/** Time for code: only `monotonicMs` measures, only `wallMs` is shown or logged. */
export interface Clock {
  monotonicMs(): number;
  wallMs(): number;
  /** Resolves after `ms`, or as soon as the signal fires; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, fire: () => void): () => void;
}

export interface Random {
  uuid(): string;
  /** In [0, 1). */
  number(): number;
}

/** The storage of one installation, with the count of its calls so far. */
export interface Storage {
  readonly blobs: BlobStore;
  readonly queues: QueueStore;
  lease(container: string, blob: string): ContentLease;
  readonly meter: CallMeter;
  /**
   * A link by which anybody who has it reads one blob over https, from `nowMs` (by storage's time) to `untilMs`, and saves it under that
   * name. Absent where storage is reached by a key. Throws `denied` where the identity may not sign.
   */
  linkTo?(
    container: string,
    name: string,
    asked: { readonly nowMs: number; readonly untilMs: number; readonly fileName: string },
  ): Promise<string>;
  /** For diagnosis only; absent where no service is behind it. */
  readonly about?: AboutService;
}
