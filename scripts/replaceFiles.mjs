import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/**
 * Gives the folder `to` the files of `from`, and no others, by moving each in one step. A file with the same bytes is not
 * touched, so whoever reads `to` meanwhile misses none if several give it the same files at once. Empty folders stay.
 */
export async function replaceFiles(from, to) {
  const [made, before] = await Promise.all([filesIn(from), filesIn(to)]);
  for (const file of made) {
    if (await isSame(join(from, file), join(to, file))) continue;
    await mkdir(dirname(join(to, file)), { recursive: true });
    await rename(join(from, file), join(to, file));
  }
  const kept = new Set(made);
  for (const file of before) if (!kept.has(file)) await rm(join(to, file), { force: true });
}

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

async function isSame(made, before) {
  const [bytes, old] = await Promise.all([readFile(made), readFile(before).catch(() => undefined)]);
  return old !== undefined && bytes.equals(old);
}
