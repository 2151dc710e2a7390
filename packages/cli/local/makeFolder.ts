import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it, as `mkdir -p`. Node's own recursive `mkdir` tries forever where the system answers
 * ENOENT although the folder above exists, as in /proc.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isFolder(path)) return;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || (await isFolder(above))) throw error;
    // The root of a drive that does not exist is above itself.
    if (above === path) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
