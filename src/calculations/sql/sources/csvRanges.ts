import { pMapIterable } from "p-map";
import type { Files } from "../../files.ts";
import { type CsvFile, lookForBorder, piecesOf } from "./lookForBorder.ts";
import { recordBorders } from "./recordBorders.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { firstReadBytes, looksAtOnce } = sourceLimits;

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
  const looks = pMapIterable(
    targets,
    async (target) => ({ target, found: await lookForBorder(csv, target, files) }),
    { concurrency: looksAtOnce, backpressure: 4 * looksAtOnce },
  );
  let before = csv.first;
  for await (const { target, found } of looks) {
    const border = found ?? (await scannedBorder(csv, { from: before, target }, files));
    if (border <= before || border >= file.bytes) continue;
    yield border;
    before = border;
  }
}

/** The same by a scan from a known border on. Throws for a quote that the file does not close. */
async function scannedBorder(
  { file, delimiter }: CsvFile,
  { from, target }: { readonly from: number; readonly target: number },
  files: Files,
): Promise<number> {
  if (target <= from) return from;
  const borders = recordBorders({ path: file.path, from, stride: target - from, delimiter });
  for (const bytes of [
    { from, to: target },
    { from: target, to: file.bytes, firstBytes: firstReadBytes },
  ])
    for await (const piece of piecesOf(file, bytes, files)) {
      const [border] = borders.push(piece);
      if (border !== undefined) return border;
    }
  borders.end();
  return file.bytes;
}

/** Where the first line begins at or after `at`, if no line feed is part of a record. */
export async function lineAt(at: number, { file }: Pick<CsvFile, "file">, files: Files): Promise<number> {
  if (at === 0 || at >= file.bytes) return Math.min(at, file.bytes);
  const borders = recordBorders({ path: file.path, from: at - 1, stride: 1 });
  const bytes = { from: at - 1, to: file.bytes, firstBytes: firstReadBytes };
  for await (const piece of piecesOf(file, bytes, files)) {
    const [border] = borders.push(piece);
    if (border !== undefined) return border;
  }
  return file.bytes;
}
