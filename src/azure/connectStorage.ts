import { BlobServiceClient, type StoragePipelineOptions, StorageRetryPolicyType } from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";
import { ConfigError, messageOf, StorageError } from "../engine/model/errors.ts";
import { whyNoToken } from "../engine/model/storageHost.ts";
import { callMeter } from "../engine/storage/calls.ts";
import { plainNames } from "../engine/storage/plainNames.ts";
import type { Storage } from "../engine/storage/ports.ts";
import type { ServiceFacts } from "../engine/storage/queuePort.ts";
import { azureBlobs } from "./azureBlobs.ts";
import { apiVersion, azureCalls } from "./azureCalls.ts";
import { azureLease } from "./azureLease.ts";
import { azureLinks } from "./azureLinks.ts";
import { azureQueues } from "./azureQueues.ts";
import { blobBillingClass, countingHttpClient } from "./countingClient.ts";

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
      /** A host suffix beside those of Azure Storage to which the token may be sent (`--storage-host`). */
      readonly storageHost?: string | undefined;
    };

/** Connects the ports to an account. No call is made yet; a connection that cannot be read is a ConfigError. */
export function connectStorage(connection: StorageConnection): Storage {
  const noProxy = whyNoProxy(process.env, process.allowedNodeEnvironmentFlags);
  if (noProxy !== undefined) throw new ConfigError("no-proxy", noProxy);
  const meter = callMeter();
  const version = signsHeaders(connection) ? undefined : apiVersion;
  const blobClient = countingHttpClient(meter, blobBillingClass, version);
  const queueClient = countingHttpClient(meter, () => "queue", version);
  try {
    if ("credential" in connection) checkHosts(connection);
    const blobs = blobService(connection, { httpClient: blobClient, retryOptions: retry });
    const leases = blobService(connection, { httpClient: blobClient, retryOptions: neverRetry });
    const queues = queueService(connection, { httpClient: queueClient, retryOptions: retry });
    return {
      blobs: plainNames(azureBlobs(blobs)),
      queues: azureQueues(queues),
      lease: (container, blob) => azureLease(leases, container, blob),
      meter,
      ...("credential" in connection && { linkTo: azureLinks(blobs) }),
      about: { facts: () => azureFacts(blobs), versioned: (...blob) => azureVersioned(blobs, ...blob) },
    };
  } catch (error) {
    // Without the SDK's error as a cause: it adds nothing but a stack, and what it says may hold the key.
    throw new ConfigError("storage-connection", whyUnusable(connection, error));
  }
}

/** Node 22.18 and 24.0 have no agents that take a proxy, and would pass it by without a word. */
export function whyNoProxy(
  env: Readonly<Record<string, string | undefined>>,
  flags: ReadonlySet<string>,
): string | undefined {
  if (!(env["HTTPS_PROXY"] || env["https_proxy"]) || flags.has("--use-env-proxy")) return undefined;
  return `HTTPS_PROXY is set, which Node ${process.versions.node} does not support: use Node 22 from 22.21 on, or 24 from 24.5 on`;
}

/** An account key signs the headers of each request, the version among them; a token and a shared access signature do not. */
const signsHeaders = (connection: StorageConnection): boolean =>
  "connectionString" in connection && !/SharedAccessSignature=/i.test(connection.connectionString);

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

/** Every connection passes here, so that a token is sent to Azure Storage over https alone. */
function checkHosts(connection: Extract<StorageConnection, { readonly credential: unknown }>): void {
  const { blobServiceUri, queueServiceUri, storageHost } = connection;
  for (const [service, uri] of [
    ["blob", blobServiceUri],
    ["queue", queueServiceUri],
  ] as const) {
    const why = whyNoToken(uri, service, storageHost);
    if (why !== undefined) throw new Error(`${uri} gets no token: ${why}`);
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
async function azureFacts(service: BlobServiceClient): Promise<ServiceFacts> {
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
}

/** Whether the account keeps versions of blobs, which only the answer for an existing blob shows. */
async function azureVersioned(
  service: BlobServiceClient,
  container: string,
  name: string,
): Promise<boolean | undefined> {
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
}
