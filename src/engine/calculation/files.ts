import { hash } from "node:crypto";
import { CalculationError } from "../model/errors.ts";
import type { SavedFile } from "../model/fileList.ts";
import { calculationLimits } from "../model/limits.ts";
import { extensionSchema } from "../model/resultType.ts";

/**
 * The blobs that a calculation may read: those in the data account's container of inputs, and in the containers of the
 * setting `LEASEFOLD_SOURCES`. It changes none of them.
 *
 * A permanent failure throws a `CalculationError` that names the path, with the code `file-missing`, `file-changed`
 * (since it was listed), `file-denied`, `file-refused`, `no-container`, `source-not-allowed` or `bad-range`. Busy
 * storage ends the whole attempt, which is retried later; the calculation does not see it.
 */
export interface Files {
  /**
   * Lists the files whose path begins with `source`, which is `container/prefix`, by name. A prefix is a folder only if
   * it ends in `/`: `data/a` finds `data/ab` too, unless `data/a` is a file itself, which is then the only one.
   */
  list(source: string): AsyncIterable<FileFact>;
  /**
   * Reads bytes `[from, to)` of a file, by default all, in order and in pieces of at most 8 MB. Bytes beyond its end are
   * ignored. An empty file gives no piece, but it must still exist.
   */
  read(file: FileFact, range?: { readonly from?: number; readonly to?: number }): AsyncIterable<Uint8Array>;
  /**
   * Saves a file of a result that is too large for one memory, at most 128 MB; `body` must not be used afterwards. For
   * `compute`: its partial keeps what this gives, and `finish` lists it by `fileList`. A run stores the file before the
   * partial; a sample and a test store none.
   */
  save(body: Uint8Array, extension: string): Promise<SavedFile>;
}

/** A file as it was when it was listed; JSON, so that it can be a chunk's input. */
export interface FileFact {
  /** `container/name`. */
  readonly path: string;
  readonly bytes: number;
  /** Changes with every write, also of the same content: a file that was written again is another file. */
  readonly etag: string;
}

/**
 * The single calls behind `Files`. Busy storage throws a `StorageError`, which is not the calculation's fault. The
 * signal aborts a call whose result nobody needs any more.
 */
export interface FileAccess {
  list(
    source: string,
    cursor: string | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly files: readonly FileFact[]; readonly cursor?: string | undefined }>;
  /**
   * Reads exactly the bytes `[from, to)` of the file into memory that the caller owns. An empty range is read only of an
   * empty file, to check that it still exists. `spare` is as many bytes that the caller needs no more: they may be read there.
   */
  read(
    file: FileFact,
    from: number,
    to: number,
    signal?: AbortSignal,
    spare?: ArrayBuffer,
  ): Promise<Uint8Array>;
  /** Stores a saved file; absent where none is stored. */
  readonly save?: ((name: string, body: Uint8Array) => Promise<void>) | undefined;
}

/** Bytes of one read. A large file takes few calls, and each open file has two pieces in memory. */
const pieceBytes = 8 * 1024 * 1024;

/** Pieces that `filesOver` gave, whose memory is the reader's. */
const ownPieces = new WeakSet<Uint8Array>();

/** Memory of released pieces of full size, for the next ones: the system clears new pages, which takes longer than reading. */
let spares: ArrayBuffer[] = [];
const sparesMax = 2;

/**
 * Frees the memory of a piece that its reader needs no more, with all views of it; does nothing for other bytes. Else V8
 * learns only from a collection of the whole heap that the piece is not used, and begins one for every few pieces.
 */
export function releasePiece(piece: Uint8Array): void {
  const { buffer } = piece;
  if (!ownPieces.delete(piece) || !(buffer instanceof ArrayBuffer)) return;
  if (piece.length !== buffer.byteLength) return;
  if (piece.length === pieceBytes && spares.length < sparesMax) spares.push(buffer.transfer());
  else buffer.transfer(0);
}

/** Frees what `releasePiece` keeps in this thread. */
export function releaseSpares(): void {
  for (const spare of spares) spare.transfer(0);
  spares = [];
}

const { savedBytesMax } = calculationLimits;
const savedLimit = `the limit is ${savedBytesMax} (savedBytesMax)`;

/** Reads one piece ahead, so that a calculation works while the next piece arrives. */
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
      const next = Math.min(end, at + pieceBytes);
      const spare = next - at === pieceBytes ? spares.pop() : undefined;
      const piece = access.read(file, at, next, undefined, spare);
      // A reader that stops early never awaits this piece.
      piece.catch(() => {});
      return piece;
    };
    let at = from;
    for (let next = pieceFrom(at); next !== undefined; ) {
      const piece = await next;
      at += piece.length;
      next = pieceFrom(at);
      ownPieces.add(piece);
      yield piece;
    }
  },

  async save(given, extension) {
    const { error } = extensionSchema.safeParse(extension);
    if (error !== undefined) throw new CalculationError("bad-file", `save: ${error.issues[0]?.message}`);
    if (given.length > savedBytesMax)
      throw new CalculationError("file-too-large", `a saved file has ${given.length} bytes; ${savedLimit}`);
    // The memory moves to whoever stores it, so it must hold these bytes and nothing else.
    const isAlone = given.buffer instanceof ArrayBuffer && given.length === given.buffer.byteLength;
    const body = isAlone ? given : new Uint8Array(given);
    const file = { name: `${hash("sha256", body)}.${extension}`, bytes: body.length };
    await access.save?.(file.name, body);
    return file;
  },
});

const nothing = async (): Promise<never> => {
  throw new CalculationError("no-files", "there are no files to read here");
};

/** For a calculation that runs without storage. */
export const noAccess: FileAccess = { list: nothing, read: nothing };
export const noFiles: Files = filesOver(noAccess);
