import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { type FileAccess, type Files, filesOver } from "../engine/calculation/files.ts";

/**
 * The files of a local folder as a calculation reads them, for tests: the source `leasefold-inputs/` stands for the folder, as if
 * `leasefold upload` had put them there. They are read when they are listed, links are left out, and nothing is saved.
 */
export const folderFiles = (folder: string): Files => filesOver(folderAccess(folder));

/** Where the folder is for a calculation. */
export const folderSource = "leasefold-inputs/";

/** The calls behind `folderFiles`. Throws the system's error for a folder that cannot be listed. */
export function folderAccess(folder: string): FileAccess {
  const bytesOf = (path: string): Uint8Array => readFileSync(join(folder, path.slice(folderSource.length)));
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => relative(folder, join(one.parentPath, one.name)).split(sep).join("/"))
    .map((name) => `${folderSource}${name}`)
    .sort();
  return {
    async list(source) {
      const found = all.includes(source) ? [source] : all.filter((path) => path.startsWith(source));
      return {
        files: found.map((path) => {
          const bytes = bytesOf(path);
          return { path, bytes: bytes.length, etag: hash("sha256", bytes) };
        }),
      };
    },
    read: async ({ path }, from, to) => Uint8Array.from(bytesOf(path).subarray(from, to)),
  };
}
