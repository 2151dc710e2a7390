import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/**
 * Gives the folder `to` the files of `from`, and no others, by moving each in one step. A file with the same bytes is not
 * touched, so whoever reads `to` meanwhile misses none if several give it the same files at once. Empty folders stay.
 *
 * Who watches the folder sees one change: new files are copied beside it first, under names that are no code, and then all are
 * moved at once. The Functions host replaces its worker 0.3 s after the last change, and while it does so deliveries fail.
 */
export async function replaceFiles(from, to) {
  const [made, before] = await Promise.all([filesIn(from), filesIn(to)]);
  await mkdir(dirname(to), { recursive: true });
  const beside = await mkdtemp(join(dirname(to), ".build-"));
  try {
    const moves = [];
    for (const file of made) {
      if (await isSame(join(from, file), join(to, file))) continue;
      const copy = join(beside, `${moves.length}.part`);
      await copyFile(join(from, file), copy);
      await mkdir(dirname(join(to, file)), { recursive: true });
      moves.push([copy, join(to, file)]);
    }
    const kept = new Set(made);
    const gone = before.filter((file) => !kept.has(file));
    for (const [copy, file] of moves) await rename(copy, file);
    for (const file of gone) await rm(join(to, file), { force: true });
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
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
