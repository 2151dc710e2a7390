import { parseArgs } from "node:util";
import type { TokenCredential } from "@azure/identity";
import { ConfigError } from "../engine/model/errors.ts";
import type { StorageConnection } from "./connectStorage.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The connection to Leasefold's data, from the settings that the queue triggers use too. Either `DataStorage` (a
 * connection string), or `DataStorage__blobServiceUri` and `DataStorage__queueServiceUri` with an identity:
 * `DataStorage__credential=managedidentity`, with `DataStorage__clientId` for a user-assigned one, or the identity of
 * the environment. Both at once is a `ConfigError`, because the host would silently use the key. `storageHost` comes from
 * the command line and never from a setting, since settings may come with a folder.
 */
export function dataStorageFrom(env: Env, storageHost?: string): StorageConnection {
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
  return { blobServiceUri, queueServiceUri, credential: credentialFrom(env), storageHost };
}

/** The option `--storage-host SUFFIX` of this process; the last one counts. */
export function storageHostIn(argv: readonly string[]): string | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: { [storageHostOption]: { type: "string" } },
    strict: false,
  });
  const given = values[storageHostOption];
  return typeof given === "string" ? given : undefined;
}

const storageHostOption = "storage-host";

function credentialFrom(env: Env): TokenCredential {
  const clientId = env["DataStorage__clientId"];
  const managed = env["DataStorage__credential"]?.toLowerCase() === "managedidentity";
  return onDemand(({ ManagedIdentityCredential, DefaultAzureCredential }) => {
    if (!managed) return new DefaultAzureCredential(clientId ? { managedIdentityClientId: clientId } : {});
    return clientId ? new ManagedIdentityCredential({ clientId }) : new ManagedIdentityCredential();
  });
}

/** The sign-in of a person's machine. */
export const signedInCredential = (): TokenCredential =>
  onDemand(({ DefaultAzureCredential }) => new DefaultAzureCredential());

/** Loads the library with the first token: it takes 10 MB, and a process with a connection string needs none of it. */
function onDemand(make: (identity: typeof import("@azure/identity")) => TokenCredential): TokenCredential {
  let made: Promise<TokenCredential> | undefined;
  return {
    async getToken(scopes, options) {
      made ??= import("@azure/identity").then(make);
      return (await made).getToken(scopes, options);
    },
  };
}
