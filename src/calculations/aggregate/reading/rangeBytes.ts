import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CalculationError, messageOf } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import type { RangeInput } from "../records.ts";
import { type FileFormat, readLimits } from "./readParams.ts";
import { tooLong } from "./recordBorders.ts";

/** Bytes of a range from the begin of a record to the end of one. */
export interface RangeBytes {
  readonly from: number;
  /** More of the file follows the last of them. */
  readonly cut: boolean;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/**
 * The bytes of the records that begin in `[from, to)`. Where the plan has not looked for records (`aligned` false) the
 * borders move to the first line feed after them: a range and the next one find the same.
 */
export async function rangeBytes(
  input: RangeInput,
  format: FileFormat,
  aligned: boolean,
  files: Files,
): Promise<RangeBytes> {
  const { file } = input;
  if (format.gzip) {
    const pieces = skipBytes(fileBytes(file, format, files), input.from);
    return { from: input.from, cut: false, pieces };
  }
  const from = aligned ? input.from : await recordAt(input.from, input, files);
  const to = aligned ? input.to : await recordAt(input.to, input, files);
  return { from, cut: to < file.bytes, pieces: files.read(file, { from, to }) };
}

/** Where the first record begins at `at` or after it, if no line feed is part of a field. */
async function recordAt(at: number, { file, first }: RangeInput, files: Files): Promise<number> {
  if (at <= first) return first;
  let from = at - 1;
  for (let look: number = readLimits.lookBytes; from < file.bytes; look *= 2) {
    const to = Math.min(file.bytes, from + look);
    for await (const piece of files.read(file, { from, to })) {
      const line = piece.indexOf(0x0a);
      if (line !== -1) return from + line + 1;
      from += piece.length;
    }
    if (from - at > readLimits.recordBytesMax) throw tooLong(file.path, `after byte ${at} no record ends`);
  }
  return file.bytes;
}

async function* skipBytes(pieces: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let left = count;
  for await (const piece of pieces) {
    if (left < piece.length) yield left === 0 ? piece : piece.subarray(left);
    left = Math.max(0, left - piece.length);
  }
}

/** All that a file holds, decompressed. */
export async function* fileBytes(
  file: FileFact,
  format: FileFormat,
  files: Files,
): AsyncGenerator<Uint8Array> {
  if (format.gzip) {
    yield* gunzip(file, files.read(file));
    return;
  }
  // A header seldom needs more than the first read, and a long file's first pieces would be on their way already.
  yield* files.read(file, { to: readLimits.lookBytes });
  yield* files.read(file, { from: readLimits.lookBytes });
}

const { gunzipRatioMax, gunzipAlwaysBytes, gunzipBytesMax } = readLimits;

/**
 * What gzip bytes hold, all members one after the other, piece by piece. Throws `CalculationError` naming the file
 * where they are cut or damaged or hold too much; an error of `pieces` passes through.
 */
export async function* gunzip(
  { path, bytes }: FileFact,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const most = Math.min(gunzipBytesMax, Math.max(gunzipAlwaysBytes, bytes * gunzipRatioMax));
  let unpacked = 0;
  const unzip = createGunzip({ chunkSize: readLimits.gunzipBytes });
  // The pipeline ends both sides when either fails or the caller stops early; the error surfaces in the loop below.
  pipeline(Readable.from(pieces), unzip, () => {});
  try {
    for await (const piece of unzip as AsyncIterable<Buffer>) {
      unpacked += piece.length;
      if (unpacked > most) throw tooMuch(path, bytes, most);
      yield piece;
    }
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).startsWith("Z_")) throw cause;
    throw new CalculationError("bad-gzip", `${path} is cut or damaged: gzip says ${messageOf(cause)}`, {
      cause,
    });
  }
}

const tooMuch = (path: string, bytes: number, most: number): CalculationError =>
  new CalculationError(
    "gzip-too-large",
    `${path}: its ${bytes} bytes hold more than ${most} (gunzipBytesMax, or gunzipRatioMax times its size); ` +
      "upload it unpacked, or in several files",
  );

/** Pieces as one; a single piece is not copied. */
export const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
