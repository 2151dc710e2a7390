import type { FileAccess, FileFact } from "../../src/engine/calculation/files.ts";

/** A file of any size that is never held: `bytesAt` writes its bytes from an offset on into a piece. */
interface SyntheticFile {
  readonly path: string;
  readonly bytes: number;
  readonly bytesAt: (from: number, piece: Uint8Array) => void;
}

/** Calls and bytes so far, and the most that were under way at the same time. */
export interface AccessUse {
  lists: number;
  reads: number;
  bytes: number;
  callsAtOnce: number;
  bytesAtOnce: number;
}

/** Files in this order on pages of 5,000. A call takes a turn of the event loop, or what `wait` takes. */
export function syntheticFiles(
  all: readonly SyntheticFile[],
  wait: (file: FileFact) => Promise<unknown> = () => new Promise((resolve) => setImmediate(resolve)),
): { readonly access: FileAccess; readonly use: AccessUse } {
  const byPath = new Map(all.map((one) => [one.path, one]));
  const facts = all.map(({ path, bytes }) => ({ path, bytes, etag: "synthetic" }));
  const use: AccessUse = { lists: 0, reads: 0, bytes: 0, callsAtOnce: 0, bytesAtOnce: 0 };
  let [calls, open] = [0, 0];
  const access: FileAccess = {
    async list(_source, cursor = "0") {
      use.lists += 1;
      const next = Number(cursor) + pageFiles;
      const files = facts.slice(Number(cursor), next);
      return next < facts.length ? { files, cursor: String(next) } : { files };
    },
    async read(file, from, to) {
      const bytes = to - from;
      use.reads += 1;
      use.bytes += bytes;
      use.callsAtOnce = Math.max(use.callsAtOnce, ++calls);
      open += bytes;
      use.bytesAtOnce = Math.max(use.bytesAtOnce, open);
      await wait(file);
      const piece = new Uint8Array(bytes);
      byPath.get(file.path)?.bytesAt(from, piece);
      calls -= 1;
      open -= bytes;
      return piece;
    },
  };
  return { access, use };
}

const pageFiles = 5_000;
