import { CalculationError } from "../model/errors.ts";

/**
 * What a calculation may read: the blobs of the data account. Nothing can be written through it.
 *
 * What is not there, changed since it was listed, or may not be read, is a `CalculationError` with the code
 * `file-missing`, `file-changed`, `no-container` or `file-denied`.
 */
export interface Files {
  /** The files whose path begins with `source`, which is `container/prefix`; in order of their names. */
  list(source: string): AsyncIterable<FileFact>;
  /** Bytes `[from, to)` of a file, by default all of it, in order and in pieces of at most 8 MB. */
  read(file: FileFact, range?: { readonly from?: number; readonly to?: number }): AsyncIterable<Uint8Array>;
}

/** A file as it was when it was listed; JSON, so that it can be a chunk's input. */
export interface FileFact {
  /** `container/name`. */
  readonly path: string;
  readonly bytes: number;
  /** Changes with the content. */
  readonly etag: string;
}

/** The single calls behind `Files`. Storage that is busy throws a `StorageError`, which is no fault of the calculation. */
export interface FileAccess {
  list(
    source: string,
    cursor: string | undefined,
  ): Promise<{ readonly files: readonly FileFact[]; readonly cursor?: string | undefined }>;
  /** Exactly the bytes `[from, to)`, of which there is at least one, and which lie within the file. */
  read(file: FileFact, from: number, to: number): Promise<Uint8Array>;
}

/** Bytes of one read: few calls for a large file, and two such pieces in memory for each thread. */
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

  async *read(file, { from = 0, to = file.bytes } = {}) {
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
