import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../../src/engine/model/errors.ts";
import { isAlive } from "./supervisor.ts";

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

/** Takes the lock for as long as this process lives, the emulator's, or ends it. */
export function holdData(location: string): void {
  // The rest of the program does not load it.
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(join(location, lockFile), { timeout: 0 });
  // Without this reference a collected database would end the lock.
  held.push(database);
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    try {
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      break;
    } catch (error) {
      if ((error as { errstr?: unknown }).errstr !== "database is locked") throw error;
      if (waitedMs >= endingMsMax || isAlive(Number(holderOf(location)))) process.exit(lockedExitCode);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    }
  }
  writeFileSync(join(location, holderFile), String(process.ppid));
}

const held: object[] = [];

export function dataIsLocked(location: string): InputError {
  const message = `another "leasefold up" (process ${holderOf(location)}) keeps its storage in ${location} already`;
  return new InputError("conflict", "already-up", message);
}

function holderOf(location: string): string {
  try {
    return readFileSync(join(location, holderFile), "utf8");
  } catch {
    return "unknown";
  }
}
