import { createHash } from "node:crypto";
import { type FileAccess, type FileFact, type Files, filesOver } from "../../src/engine/calculation/files.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";

/**
 * Files in memory: path → bytes or text. Pieces have at most `pieceBytes` bytes, so that what spans pieces is met in
 * small tests. The map may be changed between plan and compute, as users do; what is saved is in it as `saved/{name}`.
 */
export function memoryFiles(content: Map<string, Uint8Array | string>, pieceBytes = Infinity): Files {
  const known = new Map<string, { from: Uint8Array | string; bytes: Uint8Array; fact: FileFact }>();
  const find = (path: string) => {
    const from = content.get(path);
    const before = known.get(path);
    if (from === undefined) return undefined;
    if (before?.from === from) return before;
    const bytes = typeof from === "string" ? Buffer.from(from) : from;
    const etag = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
    const found = { from, bytes, fact: { path, bytes: bytes.length, etag } };
    known.set(path, found);
    return found;
  };
  const access: FileAccess = {
    async list(source) {
      const prefix = source.includes("/") ? source : `${source}/`;
      const paths = content.has(source)
        ? [source]
        : [...content.keys()].filter((path) => path.startsWith(prefix));
      return { files: paths.sort().flatMap((path) => find(path)?.fact ?? []) };
    },
    async read(file, from, to) {
      const found = find(file.path);
      if (found === undefined) throw new CalculationError("file-missing", `${file.path} is not there`);
      if (found.fact.etag !== file.etag) {
        throw new CalculationError("file-changed", `${file.path} has changed since it was listed`);
      }
      return found.bytes.slice(from, to);
    },
    async save(name, body) {
      content.set(`saved/${name}`, body);
    },
  };
  const files = filesOver(access);
  return {
    ...files,
    async *read(file, range) {
      for await (const piece of files.read(file, range)) {
        for (let at = 0; at < piece.length; at += pieceBytes) yield piece.subarray(at, at + pieceBytes);
      }
    },
  };
}
