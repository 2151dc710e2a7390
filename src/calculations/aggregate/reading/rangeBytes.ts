import type { FileFact, Files } from "../../files.ts";
import type { RangeInput } from "../records.ts";
import type { FileFormat } from "./fileFormat.ts";
import { gunzip } from "./gunzip.ts";
import { readLimits } from "./readLimits.ts";
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
