import type { Calculations } from "../calculations/registry.ts";
import type { Client } from "../client/client.ts";
import { emptyIfMissing } from "../client/containersAndQueues.ts";
import { findLocalFile, type LocalFile } from "../local/localFile.ts";
import { ConfigError, InputError, messageOf, StorageError } from "../model/errors.ts";
import { leaderBlob, namesOf, namespaceCharactersMax, namespacePattern } from "../model/names.ts";
import { connectStorage, type StorageConnection } from "../storage/azure/connectStorage.ts";
import { isAbortError, systemClock, systemRandom } from "../storage/system.ts";
import type { ConnectOptions } from "./cli.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Storage must answer a first small question within this time; the whole command is then refused, not hung. */
const firstAnswerMs = 8_000;

export interface Place {
  readonly connection: StorageConnection;
  /** For people; carries no key. */
  readonly shown: string;
}

/** Opens the storage and asks it one thing, so that an unreachable one is told at once and in one line. */
export async function connectClient(
  options: ConnectOptions,
  env: Env,
  folder: string,
  calculations: () => Promise<Calculations>,
): Promise<Client> {
  const namespace = checkNamespace(namespaceOf(options, env));
  const { connection, shown } = await findStorage(options, env, folder);
  const storage = connectStorage(connection);
  const names = namesOf(namespace);
  await checkReachable(shown, (signal) => storage.blobs.head(names.coordination, leaderBlob, { signal }));
  return { storage, names, clock: systemClock, random: systemRandom, calculations: await calculations() };
}

export const namespaceOf = ({ namespace }: ConnectOptions, env: Env): string =>
  namespace ?? (env["LEASEFOLD_NAMESPACE"] || "leasefold");

const storageSettings = ["DataStorage", "DataStorage__blobServiceUri", "DataStorage__queueServiceUri"];

/** Whether options or settings say which storage is meant; then running instances are not searched for. */
export const namesStorage = ({ connection, account }: ConnectOptions, env: Env): boolean =>
  connection !== undefined || account !== undefined || storageSettings.some((name) => env[name]);

/** `--connection`, `--account`, the `DataStorage` settings, or the embedded instances that run here; in this order. */
export async function findStorage(options: ConnectOptions, env: Env, folder: string): Promise<Place> {
  const { connection, account } = options;
  if (connection !== undefined && account !== undefined) {
    throw new InputError("invalid", "two-storages", "--connection and --account: give only one of them");
  }
  if (connection !== undefined) return ofString(connection);
  if (account !== undefined) return await ofAccount(account);
  if (namesStorage(options, env)) {
    const { dataStorageFrom } = await import("../storage/azure/dataStorage.ts");
    const found = dataStorageFrom(env);
    return "connectionString" in found
      ? ofString(found.connectionString)
      : { connection: found, shown: found.blobServiceUri };
  }
  const found = await findLocalFile(env, folder);
  if (found.kind === "found") return ofString(found.local.connectionString);
  const stale = found.kind === "stale" ? " (the instances that were started here do not run any more)" : "";
  throw new ConfigError(
    "no-storage",
    `no storage to talk to${stale}: start embedded instances with "leasefold up", or give --connection, --account ` +
      "or the setting DataStorage",
  );
}

/** The embedded instances behind the storage that a command talks to; none where it is another storage. */
export async function findInstances(
  options: ConnectOptions,
  env: Env,
  folder: string,
): Promise<LocalFile["instances"]> {
  const found = await findLocalFile(env, folder);
  if (found.kind !== "found") return [];
  const { connection } = await findStorage(options, env, folder);
  const theirs =
    "connectionString" in connection && connection.connectionString === found.local.connectionString;
  return theirs ? found.local.instances : [];
}

const ofString = (connectionString: string): Place => ({
  connection: { connectionString },
  shown:
    /BlobEndpoint=([^;]+)/i.exec(connectionString)?.[1] ??
    /AccountName=([^;]+)/i.exec(connectionString)?.[1] ??
    "the emulator on this machine",
});

async function ofAccount(account: string): Promise<Place> {
  if (!/^[a-z0-9]{3,24}$/.test(account)) {
    const rule = "is not a storage account's name; use 3 to 24 lower-case letters and digits";
    throw new InputError("invalid", "bad-account", `--account: ${JSON.stringify(account)} ${rule}`, {
      field: "account",
    });
  }
  const { signedInCredential } = await import("../storage/azure/dataStorage.ts");
  const uri = (service: string): string => `https://${account}.${service}.core.windows.net`;
  const connection = {
    blobServiceUri: uri("blob"),
    queueServiceUri: uri("queue"),
    credential: signedInCredential(),
  };
  return { connection, shown: uri("blob") };
}

export function checkNamespace(namespace: string): string {
  if (namespace.length <= namespaceCharactersMax && namespacePattern.test(namespace)) return namespace;
  throw new InputError(
    "invalid",
    "bad-namespace",
    `--namespace: ${JSON.stringify(namespace)} is not one; use at most ${namespaceCharactersMax} lower-case letters, ` +
      "digits and single dashes, beginning with a letter",
    { field: "namespace" },
  );
}

/** Turns silence into an error that names the place. Whatever the service itself says passes. */
export async function checkReachable(
  shown: string,
  ask: (signal: AbortSignal) => Promise<unknown>,
  waitMs = firstAnswerMs,
): Promise<void> {
  try {
    await emptyIfMissing(ask(AbortSignal.timeout(waitMs)), undefined);
  } catch (error) {
    if (isAbortError(error)) throw unreachable(shown, `no answer within ${waitMs / 1000} s`, error);
    if (!(error instanceof StorageError)) throw error;
    if (error.kind === "busy") throw unreachable(shown, messageOf(error), error);
    // The service itself always gives a code; without one it was not asked, or it is another service.
    if (error.storageCode !== "") throw error;
    if (error.kind === "denied") throw notSignedIn(shown, error);
    throw unreachable(shown, "what answers there is no Azure Storage", error);
  }
}

const unreachable = (shown: string, why: string, cause: unknown): StorageError =>
  new StorageError("busy", "", undefined, `cannot reach storage at ${shown}: ${why}`, cause);

const notSignedIn = (shown: string, cause: StorageError): StorageError =>
  new StorageError(
    "denied",
    "",
    cause.status,
    `no Azure sign-in that ${shown} accepts: run "az login"; your user then needs "Storage Blob Data Reader" and ` +
      '"Storage Queue Data Reader" to read, and what "operators" of infra/main.bicep gives to submit and steer runs',
    cause,
  );
