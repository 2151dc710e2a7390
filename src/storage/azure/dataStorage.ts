import { DefaultAzureCredential, ManagedIdentityCredential, type TokenCredential } from "@azure/identity";
import { ConfigError } from "../../model/errors.ts";
import type { StorageConnection } from "./connectStorage.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Where Leasefold's data is, from the settings that the queue triggers use too: `DataStorage` (a connection
 * string), or `DataStorage__blobServiceUri` and `DataStorage__queueServiceUri` with an identity, which is
 * `DataStorage__credential=managedidentity` with `DataStorage__clientId` for a user-assigned one, or whatever
 * identity the environment offers. Both at once is a `ConfigError`: the host would take the connection string, and
 * whoever set the identity would not learn that a key is in use.
 */
export function dataStorageFrom(env: Env): StorageConnection {
  const connectionString = env["DataStorage"];
  const blobServiceUri = env["DataStorage__blobServiceUri"];
  const queueServiceUri = env["DataStorage__queueServiceUri"];
  if (connectionString) {
    if (!blobServiceUri && !queueServiceUri) return { connectionString };
    const uri = blobServiceUri ? "DataStorage__blobServiceUri" : "DataStorage__queueServiceUri";
    throw new ConfigError(
      "two-storages",
      `DataStorage and ${uri} are both set: remove DataStorage to use the identity, or ${uri} to use the key`,
    );
  }
  if (!blobServiceUri && !queueServiceUri) {
    throw new ConfigError(
      "no-data-storage",
      "DataStorage is not set: give a connection string, or DataStorage__blobServiceUri and DataStorage__queueServiceUri",
    );
  }
  if (!blobServiceUri) throw new ConfigError("no-data-storage", "DataStorage__blobServiceUri is not set");
  if (!queueServiceUri) throw new ConfigError("no-data-storage", "DataStorage__queueServiceUri is not set");
  return { blobServiceUri, queueServiceUri, credential: credentialFrom(env) };
}

function credentialFrom(env: Env) {
  const clientId = env["DataStorage__clientId"];
  if (env["DataStorage__credential"]?.toLowerCase() === "managedidentity") {
    return clientId ? new ManagedIdentityCredential({ clientId }) : new ManagedIdentityCredential();
  }
  return new DefaultAzureCredential(clientId ? { managedIdentityClientId: clientId } : {});
}

/**
 * The sign-in that a person's machine has: environment, workload or managed identity, Azure CLI and so on, in the
 * order of `DefaultAzureCredential`. Import this file only when needed; the library behind it is large.
 */
export const signedInCredential = (): TokenCredential => new DefaultAzureCredential();
