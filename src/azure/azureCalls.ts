import type { CallOptions } from "../engine/storage/calls.ts";
import type { BlobProperties, BlobWrite, Replaced } from "../engine/storage/ports.ts";
import { failureOf, type Service, storageErrorOfCode } from "../engine/storage/storageErrors.ts";
import { throwIfAborted } from "../engine/storage/system.ts";

/**
 * One request may take this long; the SDK's own per-try timeout is only a parameter for the service and does not
 * end a socket that hangs (measured: still pending after 150 s).
 */
const requestCapMs = 60_000;
/** A body adds its time at one MiB per second. */
const capMsPerByte = 1000 / 2 ** 20;

/**
 * The version of the storage API that is asked for. The SDKs send their newest, which stamps of Azure get one after the other: for
 * months some accounts of a region refused it with 400 `InvalidHeaderValue` (github.com/Azure/azure-sdk-for-go/issues/27543). This one
 * is more than a year old, and has all that is used here.
 */
export const apiVersion = "2025-07-05";

export interface AzureCall {
  readonly signal: AbortSignal;
  /** Restarts the cap: bytes have arrived. */
  progress(): void;
  /** The answer has begun; from here on only the caller's signal ends it, until `end`. */
  uncap(): void;
  /** Removes the listener and the timer. */
  end(): void;
}

/** A signal that fires with the caller's or at the cap, and leaves no listener behind on a long-lived one. */
export function beginCall(caller: AbortSignal | undefined, bodyBytes = 0): AzureCall {
  throwIfAborted(caller);
  const controller = new AbortController();
  const abort = () => controller.abort();
  const arm = () => setTimeout(abort, requestCapMs + bodyBytes * capMsPerByte).unref();
  let timer = arm();
  caller?.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    progress: () => {
      clearTimeout(timer);
      timer = arm();
    },
    uncap: () => clearTimeout(timer),
    end: () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", abort);
    },
  };
}

/** Makes one call of the SDK under its cap; whatever it throws comes out as our own errors. `what` opens their text. */
export const azureCalls =
  (service: Service) =>
  async <T>(
    what: string,
    options: CallOptions | undefined,
    run: (abortSignal: AbortSignal) => Promise<T>,
    bodyBytes = 0,
  ): Promise<T> => {
    const call = beginCall(options?.signal, bodyBytes);
    try {
      return await run(call.signal);
    } catch (error) {
      throw failureOf(error, service, what, options?.signal);
    } finally {
      call.end();
    }
  };

export const missing = { kind: "missing" } as const;
export const conflict = { kind: "conflict" } as const;

/** Both codes mean that the blob exists; which one comes differs with the kind of account. */
export const createOutcomes = {
  BlobAlreadyExists: { kind: "existed" },
  ConditionNotMet: { kind: "existed" },
} as const;

export const replaceOutcomes = { ConditionNotMet: conflict, BlobNotFound: conflict };

export const noneMatch = { ifNoneMatch: "*" } as const;

/** Answers carry ETags in quotes, lists without, and a client may have kept either. */
export const unquoted = (etag: string | undefined): string => (etag ?? "").replace(/^(W\/)?"|"$/g, "");

/** The condition of a write that must have one: an ETag that is missing all the same becomes one that storage refuses. */
export const matching = (etag: string): { readonly ifMatch: string } => ({ ifMatch: `"${unquoted(etag)}"` });

/** No condition without an ETag. */
export const ifMatchOf = (etag: string | undefined): { readonly ifMatch?: string } =>
  etag === undefined ? {} : matching(etag);

/** Answers carry metadata keys in any case. */
export const metadataOf = (metadata: Readonly<Record<string, string>> | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [key.toLowerCase(), value]));

/** What a write sets besides the body. */
export const headersOf = ({ contentType, metadata }: BlobWrite) => ({
  blobHTTPHeaders: { blobContentType: contentType ?? "application/octet-stream" },
  metadata: metadataOf(metadata),
});

/** The service's own time of an answer, in ms. */
export function dateMsOf(answer: { readonly date?: Date | undefined }): number {
  if (answer.date === undefined) throw storageErrorOfCode("blob", "", 200, "an answer without its Date");
  return answer.date.getTime();
}

interface AnsweredProperties {
  readonly etag?: string | undefined;
  readonly lastModified?: Date | undefined;
  readonly contentType?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export function propertiesOf(answer: AnsweredProperties, bytes: number): BlobProperties {
  return {
    etag: unquoted(answer.etag),
    lastModifiedMs: answer.lastModified?.getTime() ?? 0,
    bytes,
    contentType: answer.contentType ?? "application/octet-stream",
    metadata: metadataOf(answer.metadata),
  };
}

export const replacedBy = (answer: { readonly etag?: string; readonly date?: Date }): Replaced => ({
  kind: "replaced",
  etag: unquoted(answer.etag),
  dateMs: dateMsOf(answer),
});
