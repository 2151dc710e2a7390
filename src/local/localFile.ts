import { createHash } from "node:crypto";
import { realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { readPrivate, writePrivate } from "./privateFile.ts";
import { runtimeFolder } from "./runtimeFolder.ts";
import { localConnectionPattern } from "./storageAccount.ts";
import { isSupervisor } from "./supervisor.ts";

/**
 * The state of the embedded instances of a folder: where they are and what opens them, so that the CLI finds them by
 * itself. It lies in the user's runtime folder, under a hash of the folder's real path, while they run; one that a crash
 * left behind is recognised by its process. It names this machine only, and no code.
 */
const instanceSchema = z.object({
  name: z.string(),
  pid: z.number().int().positive().optional(),
  httpUrl: z
    .string()
    .regex(/^http:\/\/127\.0\.0\.1:\d+$/)
    .optional(),
  /** It ended by itself, so often in a row, and does not run as yet. */
  down: z.object({ reason: z.string(), ends: z.number().int().positive() }).optional(),
});

export const localFileSchema = z.object({
  v: z.literal(1),
  connectionString: z.string().regex(localConnectionPattern),
  /** Opens the HTTP functions of all instances. */
  functionKey: z.string().min(1),
  /** Of the instances; a command may ask for another one. */
  namespace: z.string().min(1),
  /** The process that runs them all; `down` asks it to stop. */
  supervisorPid: z.number().int().positive(),
  azuritePid: z.number().int().positive().optional(),
  instances: z.array(instanceSchema),
  /** ISO 8601. */
  startedAt: z.iso.datetime(),
});
export type LocalFile = z.infer<typeof localFileSchema>;

export type FoundLocalFile =
  | { readonly kind: "found"; readonly path: string; readonly local: LocalFile }
  /** Its supervisor does not run any more, or nobody can read it. */
  | { readonly kind: "stale"; readonly path: string; readonly local?: LocalFile }
  | { readonly kind: "missing" };

type Env = Readonly<Record<string, string | undefined>>;

/** Where the state of the instances of this very folder lies. */
export async function localFilePath(env: Env, folder: string): Promise<string> {
  return pathIn(await runtimeFolder(env), await realFolder(folder));
}

const pathIn = (runtime: string, real: string): string =>
  join(runtime, `${createHash("sha256").update(real).digest("hex").slice(0, 32)}.json`);

/** A folder that is gone has no other name. */
const realFolder = (folder: string): Promise<string> => realpath(folder).catch(() => resolve(folder));

/** Replaces the file at once. Only its owner can read it, since what is in it are keys. */
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
  const runs = isSupervisor(local.supervisorPid, local.startedAt);
  return { kind: runs ? "found" : "stale", path, local };
}

/** Removes the file if it is the one that `supervisorPid` wrote: another `up` may have taken its place. */
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
