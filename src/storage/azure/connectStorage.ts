import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from "@azure/core-rest-pipeline";
import {
  BlobServiceClient,
  type HttpOperationResponse,
  type IHttpClient,
  type StoragePipelineOptions,
  StorageRetryPolicyType,
  type WebResource,
} from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";
import type { BillingClass } from "../../model/calls.ts";
import { ConfigError, messageOf, StorageError } from "../../model/errors.ts";
import { type CallMeter, callMeter } from "../calls.ts";
import { plainNames } from "../plainNames.ts";
import type { Storage } from "../ports.ts";
import type { ServiceFacts } from "../queuePort.ts";
import { azureBlobs } from "./azureBlobs.ts";
import { azureCalls } from "./azureCalls.ts";
import { azureLease } from "./azureLease.ts";
import { keepListText } from "./azureList.ts";
import { azureQueues } from "./azureQueues.ts";

/** A credential of `@azure/identity`, by its shape: the public types then need no package of Azure. */
interface TokenCredential {
  getToken(
    scopes: string | string[],
    options?: object,
  ): Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>;
}

/** The storage account and the identity. `UseDevelopmentStorage=true` is a connection string like any other. */
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
    const blobs = blobService(connection, { httpClient: blobClient, retryOptions: retry });
    const leases = blobService(connection, { httpClient: blobClient, retryOptions: neverRetry });
    const queues = queueService(connection, { httpClient: queueClient, retryOptions: retry });
    return {
      blobs: plainNames(azureBlobs(blobs)),
      queues: azureQueues(queues),
      lease: (container, blob) => azureLease(leases, container, blob),
      meter,
      about: { facts: azureFacts(blobs), versioned: azureVersioned(blobs) },
    };
  } catch (error) {
    // Without the SDK's error as a cause: it adds nothing but a stack, and what it says may hold the key.
    throw new ConfigError("storage-connection", whyUnusable(connection, error));
  }
}

function whyUnusable(connection: StorageConnection, error: unknown): string {
  if ("credential" in connection) return `the data storage connection is not usable: ${messageOf(error)}`;
  const what = connection.connectionString.trim() === "" ? "is empty" : "cannot be read";
  return (
    `the connection string of the storage ${what}: it has the parts DefaultEndpointsProtocol, AccountName and AccountKey, ` +
    "or BlobEndpoint, QueueEndpoint and SharedAccessSignature, or is UseDevelopmentStorage=true"
  );
}

/** The SDK does not wait before the second attempt, then 0.4 s and 1.2 s. */
const retry = {
  maxTries: 4,
  retryPolicyType: StorageRetryPolicyType.EXPONENTIAL,
  retryDelayInMs: 400,
  maxRetryDelayInMs: 4000,
};

/** The election retries lease calls by its own policy. */
const neverRetry = { maxTries: 1 };

/** The SDK checks this only at the first call, where it would look like a bug. */
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

/** Facts about the service and the account, as far as the identity may read them. */
function azureFacts(service: BlobServiceClient): () => Promise<ServiceFacts> {
  return async () => {
    try {
      const answer = await call("Get Blob Service Properties", undefined, (abortSignal) =>
        service.getProperties({ abortSignal }),
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

/** Whether the account keeps versions of blobs, which only the answer for an existing blob shows. */
function azureVersioned(
  service: BlobServiceClient,
): (container: string, name: string) => Promise<boolean | undefined> {
  return async (container, name) => {
    try {
      const blob = service.getContainerClient(container).getBlobClient(name);
      const answer = await call(`Get Blob Properties ${container}/${name}`, undefined, (abortSignal) =>
        blob.getProperties({ abortSignal }),
      );
      return answer.versionId !== undefined;
    } catch (error) {
      if (error instanceof StorageError && error.kind !== "busy") return undefined;
      throw error;
    }
  };
}

/**
 * The HTTP client below both SDKs: counts every request, retries included, by billing class, and keeps the text of a
 * list for `azureList.ts`. Connections are kept alive and shared.
 *
 * The SDKs take a client only in the shape of their older core library, so a request is translated back. Of that
 * shape they read `status`, `headers.toJson`, `request` and the bodies.
 */
function countingHttpClient(
  meter: CallMeter,
  classOf: (method: string, operation: string | undefined) => BillingClass,
): IHttpClient {
  return {
    async sendRequest(web: WebResource): Promise<HttpOperationResponse> {
      if (web.abortSignal?.aborted !== true) {
        // The request makes enough URL objects of its own.
        const operation = /\?(?:.*&)?comp=([^&]*)/.exec(web.url)?.[1];
        meter.count(classOf(web.method, operation));
        if (operation === "batch") countDeletes(meter, web.body);
      }
      const { headers, ...response } = await defaultClient.sendRequest(pipelineRequestOf(web));
      const compatible = {
        ...keepListText(response),
        request: web,
        headers: { toJson: headers.toJSON.bind(headers) },
      };
      return compatible as unknown as HttpOperationResponse;
    },
  };
}

/** Each request within a batch is billed as if it were sent alone (azure.microsoft.com/updates/batchapiforblob). */
function countDeletes(meter: CallMeter, batch: unknown): void {
  for (const _ of String(batch).matchAll(/^DELETE \//gm)) meter.count("delete");
}

const defaultClient = createDefaultHttpClient();

type RequestOptions = Parameters<typeof createPipelineRequest>[0];

function pipelineRequestOf(web: WebResource) {
  const { url, method, body, timeout, requestId, abortSignal, streamResponseStatusCodes, agent } = web;
  const headers = createHttpHeaders(web.headers.toJson({ preserveCase: true }));
  // The SDK has already decided whether plain http is allowed; the emulator speaks nothing else.
  const allowInsecureConnection = true;
  return createPipelineRequest({
    ...{ url, method, headers, body, timeout, requestId, abortSignal, streamResponseStatusCodes, agent },
    allowInsecureConnection,
  } as RequestOptions);
}

/**
 * How Blob Storage bills a request (azure.microsoft.com/pricing/details/storage/blobs, operations by class, and
 * learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories, where a batch is `other`).
 */
function blobBillingClass(method: string, operation: string | undefined): BillingClass {
  switch (method) {
    case "PUT":
      return operation === "lease" || operation === "metadata" || operation === "properties"
        ? "other"
        : "write";
    case "GET":
      if (operation === "list") return "list";
      return operation === undefined ? "read" : "other";
    case "DELETE":
      return "delete";
    default:
      return "other";
  }
}
