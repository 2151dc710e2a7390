import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { type Files, filesOver } from "../engine/calculation/files.ts";

/**
 * The files of a local folder as a calculation reads them, for tests: the source `leasefold-inputs/` stands for the folder, as if
 * `leasefold upload` had put them there. They are read when they are listed, links are left out, and nothing is saved.
 */
export function folderFiles(folder: string): Files {
  const bytesOf = (path: string): Uint8Array => readFileSync(join(folder, path.slice(container.length)));
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(folder.length).split(sep).filter(Boolean).join("/"))
    .map((name) => `${container}${name}`)
    .sort();
  return filesOver({
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
  });
}

const container = "leasefold-inputs/";
