import { hostname } from "node:os";
import { connectStorage, type StorageConnection } from "../../azure/connectStorage.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { namesOf, namespaceCharactersMax, namespacePattern } from "../../engine/model/names.ts";
import type { BlobStore, Clock, ContentLease, Random } from "../../engine/storage/ports.ts";
import { systemClock, systemRandom } from "../../engine/storage/system.ts";

/** Where the leases of an election are. Exported to users as `ElectionPlace`. */
export interface ElectionLocation {
  /**
   * A connection string (`UseDevelopmentStorage=true` for the emulator), or the account's blob address and a
   * credential of `@azure/identity`. Leading and holding need the role "Storage Blob Data Contributor", observing
   * needs "Storage Blob Data Reader".
   */
  readonly connection: string | BlobConnection;
  /** Prefix of the container, which is `{namespace}-coordination`. Default `leasefold`. */
  readonly namespace?: string;
}

export interface BlobConnection {
  /** `https://{account}.blob.core.windows.net` */
  readonly blobServiceUri: string;
  readonly credential: Extract<StorageConnection, { readonly credential: unknown }>["credential"];
  /** A host suffix that may have the token although it is none of Azure Storage's, such as that of an Azure Stack. */
  readonly storageHost?: string;
}

/** What the three ways to use the election need from outside; tests pass their own. */
export interface ElectionPorts {
  readonly container: string;
  readonly blobs: BlobStore;
  lease(blob: string): ContentLease;
  readonly clock: Clock;
  readonly random: Random;
}

/** No call is made yet. Throws `ConfigError` for a connection or namespace that cannot be used. */
export function openElection({ connection, namespace = "leasefold" }: ElectionLocation): ElectionPorts {
  if (namespace.length > namespaceCharactersMax || !namespacePattern.test(namespace)) {
    throw new ConfigError(
      "bad-namespace",
      `${JSON.stringify(namespace)} is no namespace; use at most ${namespaceCharactersMax} lower-case letters, ` +
        "digits and single dashes, beginning with a letter",
    );
  }
  const storage = connectStorage(connectionOf(connection));
  const container = namesOf(namespace).coordination;
  return {
    container,
    blobs: storage.blobs,
    lease: (blob) => storage.lease(container, blob),
    clock: systemClock,
    random: systemRandom,
  };
}

function connectionOf(connection: ElectionLocation["connection"]): StorageConnection {
  if (typeof connection === "string") return { connectionString: connection };
  const { blobServiceUri, credential, storageHost } = Object(connection) as Partial<BlobConnection>;
  if (typeof blobServiceUri !== "string" || credential === undefined) {
    const message =
      "connection is a connection string, or { blobServiceUri, credential } with a credential of @azure/identity.";
    throw new ConfigError("storage-connection", message);
  }
  // An election makes no queue call; the URI only completes the connection.
  const queueServiceUri = blobServiceUri.replace(".blob.", ".queue.");
  return { blobServiceUri, queueServiceUri, credential, storageHost };
}

/** Enough to tell processes apart; nothing is decided by it. */
export const defaultHolder = (): string => `${hostname().slice(0, 100)}-${process.pid}`;
