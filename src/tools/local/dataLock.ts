import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../engine/model/errors.ts";

/**
 * One emulator at a time on a data folder: two overwrite each other's records. The emulator's own process holds a lock of
 * the system, by SQLite, as Node offers no other. The system releases it when that process has ended, however it ended, so
 * no lock is ever stale. The database stays empty; the file beside it names the process that started the emulator.
 *
 * Not promised: anything on a network file system that has no locks, or about processes on two machines.
 */
const lockFile = "leasefold.lock";
const holderFile = "leasefold.lock.pid";

/** The exit code of an emulator whose data folder another one holds. */
export const lockedExitCode = 75;

/** An emulator that its parent left behind still writes its records: it ends in less. */
const endingMsMax = 10_000;
const pollMs = 50;

/**
 * The first file from which SQLite would repair a database that a crash left half written: by a planted one it deletes any
 * file that it names. Ours is empty and has no journal, also after a crash.
 */
export async function lockRemains(location: string): Promise<string | undefined> {
  for (const end of ["", "-journal", "-wal", "-shm"]) {
    const path = join(location, `${lockFile}${end}`);
    const stats = await lstat(path).catch(() => undefined);
    if (stats !== undefined && (end !== "" || stats.size > 0)) return path;
  }
  return undefined;
}

/** Code for the emulator's process that takes the lock before the emulator loads, or ends the process. */
export const lockData = (location: string): string => `
import { DatabaseSync } from "node:sqlite";
import { closeSync, constants, lstatSync, openSync, readFileSync as readHolder, writeSync } from "node:fs";
{
  const holderPath = ${JSON.stringify(join(location, holderFile))};
  const isHeldByLiving = () => {
    try {
      return process.kill(Number(readHolder(holderPath, "utf8")), 0);
    } catch {
      return false;
    }
  };
  const lockPath = ${JSON.stringify(join(location, lockFile))};
  // SQLite has no flag for this.
  if (lstatSync(lockPath, { throwIfNoEntry: false })?.isFile() === false) throw new Error(lockPath + " is no file");
  const database = new DatabaseSync(lockPath, { timeout: 0 });
  // Without this reference a collected database would end the lock.
  globalThis[Symbol("leasefold.lock")] = database;
  for (let waitedMs = 0; ; waitedMs += ${pollMs}) {
    try {
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      break;
    } catch (error) {
      if (error.errstr !== "database is locked") throw error;
      if (waitedMs >= ${endingMsMax} || isHeldByLiving()) process.exit(${lockedExitCode});
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${pollMs});
    }
  }
  const { O_CREAT, O_NOFOLLOW = 0, O_TRUNC, O_WRONLY } = constants;
  const holder = openSync(holderPath, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  writeSync(holder, String(process.ppid));
  closeSync(holder);
}
`;

export function dataIsLocked(location: string): InputError {
  const message = `another "leasefold up" (process ${holderOf(location)}) keeps its storage in ${location} already`;
  return new InputError("conflict", "already-up", message);
}

function holderOf(location: string): string {
  try {
    const file = openSync(join(location, holderFile), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const text = readFileSync(file, "utf8");
    closeSync(file);
    return /^\d+$/.exec(text)?.[0] ?? "unknown";
  } catch {
    return "unknown";
  }
}
