import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";

/**
 * `.leasefold/local.json`: where the embedded instances of a folder are, so that the CLI finds them by itself. It
 * is there while they run; one that a crash left behind is recognised by its process.
 */
const instanceSchema = z.object({
  name: z.string(),
  pid: z.number().int().positive().optional(),
  httpUrl: z.string().optional(),
  /** It ended by itself, so often in a row, and does not run as yet. */
  down: z.object({ reason: z.string(), ends: z.number().int().positive() }).optional(),
});

export const localFileSchema = z.object({
  v: z.literal(1),
  connectionString: z.string().min(1),
  /** The process that runs them all; `down` asks it to stop. */
  supervisorPid: z.number().int().positive(),
  azuritePid: z.number().int().positive().optional(),
  instances: z.array(instanceSchema),
  /** Files of the user's own calculations that the instances know, as absolute paths. */
  calculations: z.array(z.string()).optional(),
  /** ISO 8601. */
  startedAt: z.iso.datetime(),
});
export type LocalFile = z.infer<typeof localFileSchema>;

export type FoundLocalFile =
  | { readonly kind: "found"; readonly path: string; readonly local: LocalFile }
  /** Its supervisor does not run any more, or nobody can read it. */
  | { readonly kind: "stale"; readonly path: string; readonly local?: LocalFile }
  | { readonly kind: "missing" };

const localFileIn = (folder: string) => join(folder, ".leasefold", "local.json");

/** Replaces the file at once. Only its owner can read it, since a connection string is a key. Gives its path. */
export async function writeLocalFile(folder: string, local: LocalFile): Promise<string> {
  const path = localFileIn(resolve(folder));
  const half = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(half, `${JSON.stringify(local, null, 2)}\n`, { mode: 0o600 });
  await rename(half, path);
  return path;
}

/** Looks in `from` and in each folder above it, and takes the first that is there. */
export async function findLocalFile(from: string): Promise<FoundLocalFile> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = await readLocalFile(folder);
    if (found.kind !== "missing" || dirname(folder) === folder) return found;
  }
}

/** The file of this very folder. */
export async function readLocalFile(folder: string): Promise<FoundLocalFile> {
  const path = localFileIn(resolve(folder));
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    return { kind: "missing" };
  }
  const local = decode(text);
  if (!local) return { kind: "stale", path };
  return { kind: isRunning(local) ? "found" : "stale", path, local };
}

/** Removes the file if it is the one that `supervisorPid` wrote: another `up` may have taken its place. */
export async function removeLocalFile(folder: string, supervisorPid: number): Promise<void> {
  const found = await readLocalFile(folder);
  if (found.kind !== "missing" && (!found.local || found.local.supervisorPid === supervisorPid)) {
    await rm(found.path, { force: true });
  }
}

function decode(text: string): LocalFile | undefined {
  try {
    return localFileSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A process id is used again after a restart of the machine, so a file older than that says nothing. */
function isRunning(local: LocalFile): boolean {
  const machineStartedMs = Date.now() - uptime() * 1_000;
  return Date.parse(local.startedAt) >= machineStartedMs - 60_000 && isAlive(local.supervisorPid);
}

/** Whether there is a process of this id, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === "EPERM";
  }
}
