import { createReadStream } from "node:fs";
import { open, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from "node:zlib";
import { type FileFact, type Files, releasePiece } from "../../../src/engine/calculation/files.ts";
import { CalculationError, messageOf } from "../../../src/engine/model/errors.ts";
import type { Session } from "../duck/session.ts";
import { type CsvHead, firstBytes } from "./csvHead.ts";
import type { FileFormat } from "./fileFormat.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { sampleBytes, longSampleBytes, localBytesMax } = sourceLimits;

/** By the ending DuckDB knows how a local file is compressed. */
export const endingOf = (compression: FileFormat["compression"]): string =>
  ({ none: "", gzip: ".gz", zstd: ".zst" })[compression];

/** A path that no file of the session ever had. */
export const newPath = (session: Session, ending = ""): string =>
  join(session.folder, `${session.nextName()}${ending}`);

/** A local file, and where its bytes are from. */
export interface LocalFile {
  readonly path: string;
  readonly file: FileFact;
  readonly from: number;
  /** How the file begins, if it is one of CSV and this its first part. */
  readonly head?: CsvHead | undefined;
  /** Row groups of Parquet; absent: all. */
  readonly groups?: ByteRange | undefined;
}

/** Gives a local file that is packed, though its name does not say so, the ending by which DuckDB unpacks it. */
export async function renamed(path: string): Promise<string> {
  const compression = compressionOf(await firstBytes(path, 4));
  const ending = endingOf(compression);
  if (ending === "" || path.endsWith(ending)) return path;
  await rename(path, `${path}${ending}`);
  return `${path}${ending}`;
}

/** How bytes are packed, by the first of them in Latin-1. */
const compressionOf = (start: string): FileFormat["compression"] =>
  start.startsWith("\x1f\x8b") ? "gzip" : start.startsWith("\x28\xb5\x2f\xfd") ? "zstd" : "none";

/** Bytes `[from, to)` of a file. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Bytes of the byte order mark with which a text of UTF-8 or UTF-16 begins. DuckDB does not see that a quoted name or value
 * follows one.
 */
const markBytes = (text: Uint8Array): number =>
  (/^(efbbbf|fffe|feff)/.exec(Buffer.from(text.subarray(0, 3)).toString("hex"))?.[0] ?? "").length / 2;

/**
 * Writes a file, or a range of it, to a local one, without a byte order mark, and gives where its bytes begin. Throws
 * `CalculationError` for more bytes than a worker's disk has room for.
 */
export async function fetchFile(
  file: FileFact,
  path: string,
  files: Files,
  range: ByteRange = { from: 0, to: file.bytes },
): Promise<number> {
  const bytes = range.to - range.from;
  if (bytes > localBytesMax) throw tooLarge(file, bytes);
  const local = await open(path, "w");
  let start: number | undefined;
  try {
    for await (const piece of files.read(file, range)) {
      const mark = start === undefined && range.from === 0 ? markBytes(piece) : 0;
      start ??= range.from + mark;
      await local.write(piece, mark, piece.length - mark);
      releasePiece(piece);
    }
  } finally {
    await local.close();
  }
  return start ?? range.from;
}

/** Writes the first whole records of a text file, unpacked; more than `bytesMax` where records are that long. */
export async function fetchSample(
  file: FileFact,
  { kind, compression }: FileFormat,
  path: string,
  files: Files,
  bytesMax: number = sampleBytes,
): Promise<void> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of unpacked(file, compression, files, bytesMax)) {
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
      if (bytes > bytesMax) break;
    }
  } catch (cause) {
    if (!/^Z_|^ZSTD_/.test(String((cause as { code?: unknown }).code))) throw cause;
    throw new CalculationError("bad-file", `${file.path} is cut or damaged: ${messageOf(cause)}`, { cause });
  }
  const all = Buffer.concat(pieces);
  const whole = bytes > bytesMax ? wholeRecords(all, kind) : all;
  if (whole.length < bytesMax / 2 && bytes > bytesMax && bytesMax < longSampleBytes)
    return fetchSample(file, { kind, compression }, path, files, longSampleBytes);
  const records = whole.length === 0 ? all : whole;
  await writeFile(path, records.subarray(markBytes(records)));
}

async function* unpacked(file: FileFact, named: FileFormat["compression"], files: Files, bytesMax: number) {
  let compression = named;
  if (named === "none") {
    let first = true;
    for await (const piece of files.read(file, { to: bytesMax + 1 })) {
      if (first) compression = compressionOf(Buffer.from(piece.subarray(0, 4)).toString("latin1"));
      if (compression !== "none") break;
      first = false;
      yield piece;
    }
    if (compression === "none") return;
  }
  const unzip = compression === "gzip" ? createGunzip() : createZstdDecompress();
  // The pipeline ends both sides when either fails or the caller stops early. The loop throws the error.
  pipeline(Readable.from(files.read(file)), unzip, () => {});
  yield* unzip as AsyncIterable<Uint8Array>;
}

/** Of a local file that is read, in memory at a time. */
const pieceBytes = 1024 * 1024;

/** The bytes of a local text file, unpacked if its ending says that it is packed. */
export async function* localPieces(path: string): AsyncGenerator<Buffer> {
  // A stream takes memory for whole pieces, however short the file: the collector would be busy with those of small files.
  const { size } = await stat(path);
  const bytes = createReadStream(path, { highWaterMark: Math.min(size + 1, pieceBytes) });
  const unzip = path.endsWith(".gz")
    ? createGunzip()
    : path.endsWith(".zst")
      ? createZstdDecompress()
      : undefined;
  if (unzip === undefined) return yield* bytes as AsyncIterable<Buffer>;
  pipeline(bytes, unzip, () => {});
  yield* unzip as AsyncIterable<Buffer>;
}

/** What packs bytes as the ending of a local file says. */
export const packing = (path: string) =>
  path.endsWith(".gz") ? [createGzip()] : path.endsWith(".zst") ? [createZstdCompress()] : [];

/** Up to the last line feed; of CSV, to the last that an even number of quotes comes before. */
function wholeRecords(bytes: Buffer, kind: FileFormat["kind"]): Buffer {
  let [quotes, end] = [0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x22) quotes += 1;
    if (byte === 0x0a && (kind !== "csv" || quotes % 2 === 0)) end = at + 1;
  }
  return bytes.subarray(0, end);
}

const tooLarge = ({ path }: FileFact, bytes: number): CalculationError =>
  new CalculationError(
    "file-too-large",
    `${path}: ${bytes} bytes would be one chunk; the limit is ${localBytesMax} (localBytesMax); ` +
      "upload it in several files, as Parquet, or unpacked",
  );
