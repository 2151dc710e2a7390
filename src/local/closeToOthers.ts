import { chmod, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ownUid } from "./privateFile.ts";

/**
 * Makes the emulator's data readable for their owner alone. A folder that is missing is made so; in one that is there
 * only what the emulator has made is changed, as earlier versions left it open. What the emulator writes from then on is
 * private by its umask.
 *
 * Not promised: anything on Windows, where modes say nothing.
 */
export async function closeToOthers(location: string): Promise<void> {
  await mkdir(location, { recursive: true, mode: 0o700 });
  for (const name of await readdir(location)) {
    const path = join(location, name);
    const stats = await lstat(path);
    if (!emulatorsOwn.test(name) || stats.uid !== (ownUid ?? stats.uid)) continue;
    if (stats.isDirectory()) await chmod(path, 0o700);
    else if (stats.isFile()) await chmod(path, 0o600);
  }
}

const emulatorsOwn = /^__(azurite|blobstorage|queuestorage|tablestorage)/;
