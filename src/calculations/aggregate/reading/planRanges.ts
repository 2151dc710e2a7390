import { CalculationError } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import type { RangeInput } from "../records.ts";
import { columnIndexes, readHead } from "./readHead.ts";
import { type FileFormat, fileFormat, type ReadParams } from "./readParams.ts";
import { recordBorders } from "./recordBorders.ts";

/** A file whose header is known. */
interface OpenFile {
  readonly file: FileFact;
  readonly format: FileFormat;
  readonly first: number;
  readonly columns?: readonly string[];
}

/**
 * Cuts the files of a source into ranges, in order of their names; files without a record have none. A CSV file longer
 * than a range is read once to find its records, unless `quotedNewlines` is false: from the middle of a file nobody can
 * tell a line break within quotes from one without. Throws `CalculationError` if a CSV file lacks a wanted column.
 */
export async function* planRanges(
  params: ReadParams,
  files: Files,
  wanted: readonly string[],
): AsyncGenerator<RangeInput> {
  let none = true;
  for await (const opened of mapAhead(files.list(params.source), aggregateLimits.headsAtOnce, openFile)) {
    none = false;
    if (opened !== undefined) yield* rangesOf(opened, params, files);
  }
  if (none) {
    const message = `no file begins with ${params.source}; "leasefold upload" prints the source of what it uploaded`;
    throw new CalculationError("empty-source", message);
  }

  async function openFile(file: FileFact): Promise<OpenFile | undefined> {
    if (file.bytes === 0) return undefined;
    const format = fileFormat(file.path, params);
    if (format.kind === "ndjson") return { file, format, first: 0 };
    const head = await readHead(file, format, params.header, files);
    if (head === undefined) return undefined;
    columnIndexes({ file, columns: head.columns }, wanted);
    return { file, format, ...head };
  }
}

async function* rangesOf(
  { file, format, ...rest }: OpenFile,
  params: ReadParams,
  files: Files,
): AsyncGenerator<RangeInput> {
  const { first } = rest;
  const range = (from: number, to: number): RangeInput => ({ file, from, to, ...rest });
  if (format.gzip) {
    yield range(first, Number.MAX_SAFE_INTEGER);
    return;
  }
  const span = file.bytes - first;
  const count = Math.max(1, Math.ceil(span / params.chunkBytes));
  const stride = Math.ceil(span / count);
  let from = first;
  if (count > 1 && format.kind === "csv" && params.quotedNewlines) {
    const borders = recordBorders({ path: file.path, from, stride, delimiter: format.delimiter });
    for await (const piece of files.read(file, { from })) {
      for (const to of borders.push(piece)) {
        yield range(from, to);
        from = to;
      }
    }
    borders.end();
  } else {
    for (; from + stride < file.bytes; from += stride) yield range(from, from + stride);
  }
  if (from < file.bytes || span === 0) yield range(from, file.bytes);
}

/** Maps in order, with at most `count` calls at the same time. */
async function* mapAhead<T, R>(
  items: AsyncIterable<T>,
  count: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const queue: Promise<R>[] = [];
  for await (const item of items) {
    const result = map(item);
    // A caller that stops early never awaits it.
    result.catch(() => {});
    if (queue.push(result) === count) yield queue.shift() as Promise<R>;
  }
  yield* queue;
}
