import { resolve } from "node:path";
import { connectStorage, type StorageConnection } from "../../src/azure/connectStorage.ts";
import { folderAccess, folderSource } from "../../src/calculations/folderFiles.ts";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import type { Client } from "../../src/engine/client/client.ts";
import { emptyIfMissing } from "../../src/engine/client/containersAndQueues.ts";
import { ConfigError, InputError, messageOf, StorageError } from "../../src/engine/model/errors.ts";
import {
  leaderBlob,
  namesOf,
  namespaceCharactersMax,
  namespacePattern,
} from "../../src/engine/model/names.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import { isAbortError, systemClock, systemRandom } from "../../src/engine/storage/system.ts";
import { allowedFiles, blobFiles } from "../../src/engine/worker/blobFiles.ts";
import { withActor } from "./actor.ts";
import { findLocalFile } from "./local/localFile.ts";
import { badOption, systemReason } from "./options.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** The process that a command runs in. */
export interface Surroundings {
  readonly env: Env;
  /** The base of relative file names. */
  readonly folder: string;
}

export interface ConnectOptions {
  readonly connection?: string | undefined;
  readonly account?: string | undefined;
  readonly namespace?: string | undefined;
  /** A host suffix to which a token may be sent, beside those of Azure Storage. */
  readonly storageHost?: string | undefined;
}

/** Storage that has not answered the first call within this time is reported as unreachable. */
const firstAnswerMs = 8_000;

interface FoundStorage {
  readonly connection: StorageConnection;
  /** For people; contains no key. */
  readonly shown: string;
  /** The settings by which another process finds the same storage. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Opens the storage and reads one blob, so that unreachable storage fails early and on one line. */
export async function connectClient(
  options: ConnectOptions,
  at: Surroundings,
  calculations: () => Promise<Calculations>,
): Promise<Client> {
  const namespace = checkNamespace(namespaceOf(options, at.env));
  const { connection: found, shown } = await findStorage(options, at);
  const { connection, actor } = withActor(found);
  const storage = connectStorage(connection);
  const names = namesOf(namespace);
  await checkReachable(shown, (signal) => storage.blobs.head(names.coordination, leaderBlob, { signal }));
  const known = await calculations();
  const system = { clock: systemClock, random: systemRandom };
  return { storage, names, ...system, calculations: known, actor: actor() };
}

export const namespaceOf = ({ namespace }: ConnectOptions, env: Env): string =>
  namespace ?? (env["LEASEFOLD_NAMESPACE"] || "leasefold");

const storageSettings = ["DataStorage", "DataStorage__blobServiceUri", "DataStorage__queueServiceUri"];

/** Whether options or settings name a storage; then local instances are not searched for. */
export const namesStorage = ({ connection, account }: ConnectOptions, env: Env): boolean =>
  connection !== undefined || account !== undefined || storageSettings.some((name) => env[name]);

/** `--connection`, `--account`, the `DataStorage` settings, or local instances, in this order. */
export async function findStorage(
  options: ConnectOptions,
  { env, folder }: Surroundings,
): Promise<FoundStorage> {
  const { connection, account, storageHost } = options;
  if (connection !== undefined && account !== undefined) {
    throw new InputError(
      "invalid",
      "two-storages",
      "two storages are named: give only one of --connection and --account",
    );
  }
  if (connection !== undefined) return ofString(connection);
  if (account !== undefined) return await ofAccount(account, storageHost);
  if (namesStorage(options, env)) {
    const { dataStorageFrom } = await import("../../src/azure/dataStorage.ts");
    const found = dataStorageFrom(env, storageHost);
    if ("connectionString" in found) return ofString(found.connectionString);
    const settings = Object.entries(env).filter(([name]) => name.startsWith("DataStorage__"));
    return {
      connection: found,
      shown: found.blobServiceUri,
      settings: Object.fromEntries(settings) as Record<string, string>,
    };
  }
  const found = await findLocalFile(env, folder);
  if (found.kind === "found") return ofString(found.local.connectionString);
  const stale = found.kind === "stale" ? " (the instances that were started here have ended)" : "";
  throw new ConfigError(
    "no-storage",
    `no storage is named${stale}: start local instances with "leasefold up", or give --connection, --account ` +
      "or the setting DataStorage",
  );
}

/** The local instances behind the storage that a command uses; none if it is another storage. */
export async function findInstances(options: ConnectOptions, at: Surroundings) {
  const found = await findLocalFile(at.env, at.folder);
  if (found.kind !== "found") return [];
  const { connection } = await findStorage(options, at);
  const same =
    "connectionString" in connection && connection.connectionString === found.local.connectionString;
  return same ? found.local.instances : [];
}

const ofString = (connectionString: string): FoundStorage => ({
  connection: { connectionString },
  settings: { DataStorage: connectionString },
  shown:
    /BlobEndpoint=([^;]+)/i.exec(connectionString)?.[1] ??
    /AccountName=([^;]+)/i.exec(connectionString)?.[1] ??
    "the emulator on this machine",
});

async function ofAccount(account: string, storageHost = "core.windows.net"): Promise<FoundStorage> {
  if (!/^[a-z0-9]{3,24}$/.test(account)) {
    const rule = "must be 3 to 24 lower-case letters and digits";
    throw badOption("account", `${JSON.stringify(account)}: ${rule}`, "bad-account");
  }
  const { signedInCredential } = await import("../../src/azure/dataStorage.ts");
  const uri = (service: string): string => `https://${account}.${service}.${storageHost}`;
  const [blobServiceUri, queueServiceUri] = [uri("blob"), uri("queue")];
  return {
    connection: { blobServiceUri, queueServiceUri, credential: signedInCredential(), storageHost },
    shown: blobServiceUri,
    settings: { DataStorage__blobServiceUri: blobServiceUri, DataStorage__queueServiceUri: queueServiceUri },
  };
}

export function checkNamespace(namespace: string): string {
  if (namespace.length <= namespaceCharactersMax && namespacePattern.test(namespace)) return namespace;
  const rule =
    `must be at most ${namespaceCharactersMax} lower-case letters, digits and single dashes, ` +
    "beginning with a letter";
  throw badOption("namespace", `${JSON.stringify(namespace)}: ${rule}`, "bad-namespace");
}

/** Turns a missing answer into an error that names the storage. Answers of the service itself pass unchanged. */
export async function checkReachable(
  shown: string,
  ask: (signal: AbortSignal) => Promise<unknown>,
  waitMs = firstAnswerMs,
): Promise<void> {
  try {
    await emptyIfMissing(ask(AbortSignal.timeout(waitMs)), undefined);
  } catch (error) {
    if (isAbortError(error)) throw unreachable(shown, `no answer within ${waitMs / 1000} s`, error);
    // Azure Storage always sends a code; an error without one is not an answer of it.
    if (!(error instanceof StorageError) || (error.kind !== "busy" && error.storageCode !== "")) throw error;
    if (error.kind === "busy") throw unreachable(shown, messageOf(error), error);
    if (error.kind === "denied") throw notSignedIn(shown, error);
    throw unreachable(shown, "what answers there is not Azure Storage", error);
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

/**
 * The files of the storage that a command uses, opened when the first file is read. The app's own rule for containers
 * applies, so that a plan fails here and not in the run.
 */
export function clientFiles(client: () => Promise<Client>, env: Env): FileAccess {
  let opened: Promise<FileAccess> | undefined;
  const open = (): Promise<FileAccess> => {
    const { LEASEFOLD_SOURCES = [] } = readSettings(env);
    opened ??= client().then(({ storage, names }) =>
      allowedFiles(blobFiles(storage.blobs), [names.inputs, ...LEASEFOLD_SOURCES]),
    );
    return opened;
  };
  return {
    list: async (...asked) => (await open()).list(...asked),
    read: async (...asked) => (await open()).read(...asked),
  };
}

/** What a command reads that computes here: the storage, or with `--folder` that folder, which is then the source. */
export function filesHere(
  { env, folder }: Surroundings,
  client: () => Promise<Client>,
  asked: string | undefined,
): { readonly access: FileAccess; readonly source?: string } {
  if (asked === undefined) return { access: clientFiles(client, env) };
  try {
    return { access: folderAccess(resolve(folder, asked)), source: folderSource };
  } catch (cause) {
    throw badOption("folder", `cannot read the folder ${asked}: ${systemReason(cause)}`);
  }
}
