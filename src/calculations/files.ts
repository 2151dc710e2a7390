import { CalculationError } from "../model/errors.ts";

/**
 * What a calculation may read: the blobs in the data account's container of inputs, and in those that the setting
 * `LEASEFOLD_SOURCES` names. Nothing can be written through it.
 *
 * What cannot be read for good is a `CalculationError` that names the path, with the code `file-missing`,
 * `file-changed` (since it was listed), `file-denied`, `file-refused`, `no-container`, `source-not-allowed` or `bad-range`. Storage that is
 * only busy ends the whole attempt, which is made again later: the calculation never sees it.
 */
export interface Files {
  /**
   * The files whose path begins with `source`, which is `container/prefix`; in order of their names. A prefix is no
   * folder unless it ends in `/`: `data/a` finds `data/ab` too.
   */
  list(source: string): AsyncIterable<FileFact>;
  /**
   * Bytes `[from, to)` of a file, by default all of it, in order and in pieces of at most 8 MB; what lies beyond its
   * end is left out. A file of no bytes gives none, but only if it is still there.
   */
  read(file: FileFact, range?: { readonly from?: number; readonly to?: number }): AsyncIterable<Uint8Array>;
}

/** A file as it was when it was listed; JSON, so that it can be a chunk's input. */
export interface FileFact {
  /** `container/name`. */
  readonly path: string;
  readonly bytes: number;
  /** Changes with every write of the content. */
  readonly etag: string;
  /** What storage knows of the content, such as `md5:…`: a file put back with one of them is the same file again. */
  readonly hashes?: readonly string[];
}

/**
 * The single calls behind `Files`. Storage that is busy throws a `StorageError`, which is no fault of the calculation.
 * The signal ends a call that nobody waits for any more.
 */
export interface FileAccess {
  list(
    source: string,
    cursor: string | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly files: readonly FileFact[]; readonly cursor?: string | undefined }>;
  /**
   * Exactly the bytes `[from, to)`, which lie within the file, in memory that is the caller's from now on. Only a file
   * of no bytes is asked for none, to learn whether it is still there.
   */
  read(file: FileFact, from: number, to: number, signal?: AbortSignal): Promise<Uint8Array>;
}

/** Bytes of one read: few calls for a large file, and two such pieces in memory for each file that is read. */
const pieceBytes = 8 * 1024 * 1024;

/** Reads one piece ahead, so that a calculation works while the next one is on its way. */
export const filesOver = (access: FileAccess): Files => ({
  async *list(source) {
    let cursor: string | undefined;
    do {
      const page = await access.list(source, cursor);
      yield* page.files;
      cursor = page.cursor;
    } while (cursor !== undefined);
  },

  async *read(file, { from = 0, to = Math.max(from, file.bytes) } = {}) {
    if (![from, to].every((one) => Number.isSafeInteger(one) && one >= 0) || from > to) {
      throw new CalculationError("bad-range", `${file.path}: there are no bytes from ${from} to ${to}`);
    }
    if (file.bytes === 0) await access.read(file, 0, 0);
    const end = Math.min(to, file.bytes);
    const pieceFrom = (at: number): Promise<Uint8Array> | undefined => {
      if (at >= end) return undefined;
      const piece = access.read(file, at, Math.min(end, at + pieceBytes));
      // Whoever stops reading early never hears of it.
      piece.catch(() => {});
      return piece;
    };
    let at = from;
    for (let next = pieceFrom(at); next !== undefined; ) {
      const piece = await next;
      at += piece.length;
      next = pieceFrom(at);
      yield piece;
    }
  },
});

const nothing = async (): Promise<never> => {
  throw new CalculationError("no-files", "there are no files to read here");
};

/** For a calculation that is run where there is no storage. */
export const noAccess: FileAccess = { list: nothing, read: nothing };
export const noFiles: Files = filesOver(noAccess);
