import type { TokenCredential } from "@azure/identity";
import { BlobServiceClient, type StoragePipelineOptions, StorageRetryPolicyType } from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";
import { ConfigError, messageOf, StorageError } from "../../model/errors.ts";
import { callMeter } from "../callMeter.ts";
import { plainNames } from "../plainNames.ts";
import type { CallMeter, Storage } from "../ports.ts";
import type { ServiceFacts } from "../queuePort.ts";
import { azureBlobs } from "./azureBlobs.ts";
import { azureCalls } from "./azureCalls.ts";
import { azureLease } from "./azureLease.ts";
import { azureQueues } from "./azureQueues.ts";
import { blobBillingClass, countingHttpClient } from "./countingHttpClient.ts";

/** Where the storage is, and who asks. `UseDevelopmentStorage=true` is a connection string like any other. */
export type StorageConnection =
  | { readonly connectionString: string }
  | {
      readonly blobServiceUri: string;
      readonly queueServiceUri: string;
      readonly credential: TokenCredential;
    };

/** Connects the ports to an account. No call is made yet; a connection that cannot be read is a ConfigError. */
export function connectStorage(
  connection: StorageConnection,
  options: { readonly meter?: CallMeter } = {},
): Storage {
  const meter = options.meter ?? callMeter();
  const blobClient = countingHttpClient(meter, blobBillingClass);
  const queueClient = countingHttpClient(meter, () => "queue");
  try {
    if ("credential" in connection) checkHttps(connection.blobServiceUri, connection.queueServiceUri);
    const blobs = blobService(connection, { httpClient: blobClient, retryOptions: repeat });
    const leases = blobService(connection, { httpClient: blobClient, retryOptions: neverRepeat });
    const queues = queueService(connection, { httpClient: queueClient, retryOptions: repeat });
    return {
      blobs: plainNames(azureBlobs(blobs)),
      queues: azureQueues(queues),
      lease: (container, blob) => azureLease(leases, container, blob),
      meter,
      about: { facts: azureFacts(blobs), versioned: azureVersioned(blobs) },
    };
  } catch (error) {
    throw new ConfigError(
      "storage-connection",
      `the data storage connection is not usable: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** The SDK waits nothing before the second try, then 0.4 s and 1.2 s. */
const repeat = {
  maxTries: 4,
  retryPolicyType: StorageRetryPolicyType.EXPONENTIAL,
  retryDelayInMs: 400,
  maxRetryDelayInMs: 4000,
};

/** Who repeats a lease call, and when to stop, is the election's own policy. */
const neverRepeat = { maxTries: 1 };

/** The SDK finds this out only at the first call, where it would look like a bug. */
function checkHttps(...uris: readonly string[]): void {
  for (const uri of uris) {
    if (new URL(uri).protocol !== "https:") throw new Error(`an identity needs https, not ${uri}`);
  }
}

/** The part of their options that both SDKs share. */
type PipelineOptions = Pick<StoragePipelineOptions, "httpClient" | "retryOptions">;

const blobService = (connection: StorageConnection, options: PipelineOptions): BlobServiceClient =>
  "connectionString" in connection
    ? BlobServiceClient.fromConnectionString(connection.connectionString, options)
    : new BlobServiceClient(connection.blobServiceUri, connection.credential, options);

const queueService = (connection: StorageConnection, options: PipelineOptions): QueueServiceClient =>
  "connectionString" in connection
    ? QueueServiceClient.fromConnectionString(connection.connectionString, options)
    : new QueueServiceClient(connection.queueServiceUri, connection.credential, options);

const call = azureCalls("blob");

/** What the service says of itself and of the account, as far as the identity may ask. */
export function azureFacts(service: BlobServiceClient): () => Promise<ServiceFacts> {
  return async () => {
    try {
      const answer = await call("Get Blob Service Properties", undefined, ({ signal }) =>
        service.getProperties({ abortSignal: signal }),
      );
      const { enabled = false, days = 0 } = answer.deleteRetentionPolicy ?? {};
      const { headers } = answer._response;
      return {
        dateMs: Date.parse(headers.get("date") ?? ""),
        server: headers.get("server") ?? "",
        softDeleteDays: enabled ? days : 0,
      };
    } catch (error) {
      if (error instanceof StorageError && error.kind === "denied") return { server: "" };
      throw error;
    }
  };
}

/** Whether the account keeps versions of blobs, which only an answer about a blob tells; undefined where it is not there. */
export function azureVersioned(
  service: BlobServiceClient,
): (container: string, name: string) => Promise<boolean | undefined> {
  return async (container, name) => {
    try {
      const blob = service.getContainerClient(container).getBlobClient(name);
      const answer = await call(`Get Blob Properties ${container}/${name}`, undefined, ({ signal }) =>
        blob.getProperties({ abortSignal: signal }),
      );
      return answer.versionId !== undefined;
    } catch (error) {
      if (error instanceof StorageError && error.kind !== "busy") return undefined;
      throw error;
    }
  };
}
