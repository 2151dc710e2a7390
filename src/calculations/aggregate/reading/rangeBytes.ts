import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CalculationError, messageOf } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import type { RangeInput } from "../records.ts";
import type { FileFormat } from "./readParams.ts";
import { tooLong } from "./recordBorders.ts";

const { firstReadBytes, recordBytesMax, gunzipBytes } = aggregateLimits;
const { gunzipRatioMax, gunzipAlwaysBytes, gunzipBytesMax } = aggregateLimits;

/** The bytes of a range, from the start of a record to the end of one. */
export interface RangeBytes {
  readonly from: number;
  /** More of the file follows the last of them, and the plan has not searched for open quotes there. */
  readonly cut: boolean;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/**
 * The bytes of the records that begin in `[from, to)`. If the plan has not searched for records (`aligned` false), each
 * border moves to the first line feed after it; a range and the next one find the same.
 */
export async function rangeBytes(input: RangeInput, format: FileFormat, aligned: boolean, files: Files) {
  const { file } = input;
  if (format.gzip) {
    const pieces = skipBytes(fileBytes(file, format, files), input.from);
    return { from: input.from, cut: false, pieces };
  }
  const from = aligned ? input.from : await recordAt(input.from, input, files);
  const to = aligned ? input.to : await recordAt(input.to, input, files);
  return { from, cut: !aligned && to < file.bytes, pieces: files.read(file, { from, to }) };
}

/** Where the first record begins at or after `at`, if no line feed is part of a field. */
async function recordAt(at: number, { file, first }: RangeInput, files: Files): Promise<number> {
  if (at <= first) return first;
  let from = at - 1;
  for (let count: number = firstReadBytes; from < file.bytes; count *= 2) {
    const to = Math.min(file.bytes, from + count);
    for await (const piece of files.read(file, { from, to })) {
      const line = piece.indexOf(0x0a);
      if (line !== -1) return from + line + 1;
      from += piece.length;
    }
    if (from - at > recordBytesMax) throw tooLong(file.path, `after byte ${at} no record ends`);
  }
  return file.bytes;
}

async function* skipBytes(pieces: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let toSkip = count;
  for await (const piece of pieces) {
    if (toSkip < piece.length) yield toSkip === 0 ? piece : piece.subarray(toSkip);
    toSkip = Math.max(0, toSkip - piece.length);
  }
}

/** The whole content of a file, decompressed. */
export async function* fileBytes(file: FileFact, format: FileFormat, files: Files) {
  if (format.gzip) {
    yield* gunzip(file, files);
    return;
  }
  // A header seldom needs more than the first read, while `files.read` would fetch large pieces ahead.
  yield* files.read(file, { to: firstReadBytes });
  yield* files.read(file, { from: firstReadBytes });
}

/**
 * The content of all gzip members, piece by piece. Throws `CalculationError` naming the file if it is cut, damaged or too
 * large; an error of a read passes through.
 */
async function* gunzip(file: FileFact, files: Files): AsyncGenerator<Uint8Array> {
  const { path, bytes } = file;
  const most = Math.min(gunzipBytesMax, Math.max(gunzipAlwaysBytes, bytes * gunzipRatioMax));
  let unpacked = 0;
  const unzip = createGunzip({ chunkSize: gunzipBytes });
  // The pipeline ends both sides when either fails or the caller stops early. The loop below throws the error.
  pipeline(Readable.from(files.read(file)), unzip, () => {});
  try {
    for await (const piece of unzip as AsyncIterable<Buffer>) {
      unpacked += piece.length;
      if (unpacked > most) throw tooMuch(path, bytes, most);
      yield piece;
    }
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).startsWith("Z_")) throw cause;
    throw badGzip(path, `gzip says ${messageOf(cause)}`, cause);
  }
  // zlib ends at the first zero byte behind a member, as some tools fill a file up with zeros, and ignores the rest.
  let at = unzip.bytesWritten;
  for await (const piece of files.read(file, { from: at, to: Math.max(at, bytes) })) {
    const other = piece.findIndex((byte) => byte !== 0);
    if (other !== -1) throw badGzip(path, `byte ${at + other} follows zeros that end its content`);
    at += piece.length;
  }
}

const badGzip = (path: string, why: string, cause?: unknown): CalculationError =>
  new CalculationError("bad-gzip", `${path} is cut or damaged: ${why}`, { cause });

const tooMuch = (path: string, bytes: number, most: number): CalculationError =>
  new CalculationError(
    "gzip-too-large",
    `${path}: its ${bytes} bytes hold more than ${most} (gunzipBytesMax, or gunzipRatioMax times its size); ` +
      "upload it unpacked, or in several files",
  );

/** Joins pieces; a single piece is not copied. */
export const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
