import { hash } from "node:crypto";
import { realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { readPrivate, writePrivate } from "./privateFile.ts";
import { localConnectionPattern } from "./storageAccount.ts";
import { isSupervisor } from "./supervisor.ts";
import { type Env, runtimeFolder } from "./userFolders.ts";

/**
 * The state of a folder's embedded instances, addresses and keys, with which the CLI finds them. It lies in the user's
 * runtime folder, under a hash of the folder's real path, while they run; a file that a crash left behind is recognized by
 * its process. It names this machine only, and no code.
 */
const instanceSchema = z.object({
  name: z.string(),
  pid: z.number().int().positive().optional(),
  httpUrl: z
    .string()
    .regex(/^http:\/\/127\.0\.0\.1:\d+$/)
    .optional(),
  /** It ended by itself, so often in a row, and does not run yet. */
  down: z.object({ reason: z.string(), ends: z.number().int().positive() }).optional(),
});

const localFileSchema = z.object({
  v: z.literal(1),
  connectionString: z.string().regex(localConnectionPattern),
  /** Opens the HTTP functions of all instances. */
  functionKey: z.string().min(1),
  /** Of the instances; a command may ask for another one. */
  namespace: z.string().min(1),
  /** The process that runs them all; `down` asks it to stop. */
  supervisorPid: z.number().int().positive(),
  /** When that process started: its id alone may be another process's by now. */
  supervisorStart: z.string().optional(),
  /** It loads the files of calculations anew when they change. */
  watch: z.boolean().optional(),
  azuritePid: z.number().int().positive().optional(),
  instances: z.array(instanceSchema),
  /** ISO 8601. */
  startedAt: z.iso.datetime(),
});
export type LocalFile = z.infer<typeof localFileSchema>;

type FoundLocalFile =
  | { readonly kind: "found"; readonly path: string; readonly local: LocalFile }
  /** Its supervisor has ended, or it does not decode. */
  | { readonly kind: "stale"; readonly path: string; readonly local?: LocalFile }
  | { readonly kind: "missing" };

/** The file for the instances of this very folder. */
export async function localFilePath(env: Env, folder: string): Promise<string> {
  return pathIn(await runtimeFolder(env), await realFolder(folder));
}

const pathIn = (runtime: string, real: string): string =>
  join(runtime, `${hash("sha256", real).slice(0, 32)}.json`);

/** A folder that is gone keeps the name it was given. */
const realFolder = (folder: string): Promise<string> => realpath(folder).catch(() => resolve(folder));

/** Beside the file: what instances in the background print. */
export const logFileOf = (path: string): string => path.replace(/json$/, "log");

/** Replaces the file as a whole. Only its owner can read it, because it holds keys. */
export const writeLocalFile = (path: string, local: LocalFile): Promise<void> =>
  writePrivate(path, `${JSON.stringify(local, null, 2)}\n`);

/** The state of the instances that were started in `from`, or else in the nearest folder above it. */
export async function findLocalFile(env: Env, from: string): Promise<FoundLocalFile> {
  const runtime = await runtimeFolder(env);
  for (let folder = await realFolder(from); ; folder = dirname(folder)) {
    const found = await readLocalFile(pathIn(runtime, folder));
    if (found.kind !== "missing" || dirname(folder) === folder) return found;
  }
}

/** Throws `ConfigError` for a file that is not this user's own. */
export async function readLocalFile(path: string): Promise<FoundLocalFile> {
  const text = await readPrivate(path);
  if (text === undefined) return { kind: "missing" };
  const local = decode(text);
  if (!local) return { kind: "stale", path };
  const runs = isSupervisor(local);
  return { kind: runs ? "found" : "stale", path, local };
}

/** Removes the file unless another `up` than `supervisorPid` wrote it. */
export async function removeLocalFile(path: string, supervisorPid: number): Promise<void> {
  const found = await readLocalFile(path);
  if (found.kind !== "missing" && (!found.local || found.local.supervisorPid === supervisorPid)) {
    await rm(path, { force: true });
  }
}

function decode(text: string): LocalFile | undefined {
  try {
    return localFileSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
