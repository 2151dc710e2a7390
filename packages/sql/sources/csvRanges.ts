import { pMapIterable } from "p-map";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import {
  type CsvFile,
  carriageReturn,
  findBorder,
  isSpace,
  lineFeed,
  piecesOf,
  quote,
  SpacedQuote,
} from "./findBorder.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { firstReadBytes, bordersAtOnce, recordBytesMax } = sourceLimits;

/**
 * Where the ranges of a CSV file begin that follow its first: at the first record at or after each multiple of `stride`.
 * From the middle of a file nobody can tell a line break within quotes from one without. So the bytes that follow each
 * border are read until the quotes tell, and where they do not, those since the range before.
 */
export async function* csvBorders(csv: CsvFile, stride: number, files: Files): AsyncGenerator<number> {
  const { file } = csv;
  const targets = Array.from(
    { length: Math.ceil(file.bytes / stride) - 1 },
    (_, index) => (index + 1) * stride,
  );
  const borders = pMapIterable(
    targets,
    async (target) => ({ target, found: await findBorder(csv, target, files) }),
    { concurrency: bordersAtOnce, backpressure: 4 * bordersAtOnce },
  );
  let before = csv.first;
  for await (const { target, found } of borders) {
    const border = found ?? (await scannedBorder(csv, { from: before, target }, files));
    if (border <= before || border >= file.bytes) continue;
    yield border;
    before = border;
  }
}

/** The same by a scan from a known border on. Throws `CalculationError` for a quoted field above the limit of a record. */
async function scannedBorder(
  csv: CsvFile,
  { from, target }: { readonly from: number; readonly target: number },
  files: Files,
): Promise<number> {
  if (target <= from) return from;
  const scan = borderScan(csv, from, target);
  const { file } = csv;
  for (const bytes of [
    { from, to: target },
    { from: target, to: file.bytes, firstBytes: firstReadBytes },
  ])
    for await (const piece of piecesOf(file, bytes, files)) {
      const border = scan(piece);
      if (border !== undefined) return border;
    }
  return file.bytes;
}

/**
 * Takes the bytes from `from` on, where a record begins, and gives the first border at or after `target`. A quote opens a
 * field only as its first byte; within an unquoted field it is text.
 */
function borderScan({ file, delimiter }: CsvFile, from: number, target: number) {
  const ends = [delimiter.charCodeAt(0), lineFeed, carriageReturn];
  let state: "outside" | "inside" | "closing" = "outside";
  let [at, last, opened] = [from, lineFeed, from];
  return (bytes: Uint8Array): number | undefined => {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let here = 0; here < piece.length; ) {
      const found = state === "closing" ? here : piece.indexOf(quote, here);
      const next = found === -1 ? piece.length : found;
      if (state === "inside") {
        if (at + next - opened > recordBytesMax) throw tooLong(file.path, opened);
        if (next < piece.length) state = "closing";
      } else if (state === "closing") {
        if (isSpace(piece[here])) throw new SpacedQuote();
        state = piece[here] === quote ? "inside" : "outside";
        if (state === "outside") continue;
      } else {
        const line = piece.subarray(0, next).indexOf(lineFeed, Math.max(here, target - 1 - at));
        if (line !== -1) return at + line + 1;
        const before = next === 0 ? last : (piece[next - 1] ?? last);
        if (next < piece.length && isSpace(before)) throw new SpacedQuote();
        if (next < piece.length && ends.includes(before)) {
          state = "inside";
          opened = at + next;
        }
      }
      here = next + 1;
    }
    at += piece.length;
    last = piece.at(-1) ?? last;
    return undefined;
  };
}

const tooLong = (path: string, opened: number): CalculationError =>
  new CalculationError(
    "record-too-long",
    `${path}: the quote at byte ${opened} is not closed within ${recordBytesMax / 1024 ** 2} MB, the limit of a record`,
  );

/** Where the first line begins at or after `at`, if no line feed is part of a record. */
export async function lineAt(at: number, file: FileFact, files: Files): Promise<number> {
  if (at === 0 || at >= file.bytes) return Math.min(at, file.bytes);
  let from = at - 1;
  for await (const piece of piecesOf(file, { from, to: file.bytes, firstBytes: firstReadBytes }, files)) {
    const line = piece.indexOf(lineFeed);
    if (line !== -1) return from + line + 1;
    from += piece.length;
  }
  return file.bytes;
}
