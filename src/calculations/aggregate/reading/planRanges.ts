import { CalculationError } from "../../../model/errors.ts";
import type { FileFact, Files } from "../../files.ts";
import type { PlanRanges, RangeInput } from "../records.ts";
import { columnPlaces } from "./columnPlaces.ts";
import { readHead } from "./readHead.ts";
import { type FileFormat, fileFormat, type ReadParams, readLimits } from "./readParams.ts";
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
 * than a range is read once, unless it is promised that no field holds a line break: from the middle of such a file
 * nobody can tell a line break within quotes from one without. A CSV file that lacks a wanted column ends the plan:
 * nothing of such a run is worth computing.
 */
export const planRanges: PlanRanges<ReadParams> = async function* (params, files, wanted) {
  let none = true;
  for await (const opened of aheadOf(files.list(params.source), readLimits.headsAtOnce, openFile)) {
    none = false;
    if (opened !== undefined) yield* rangesOf(opened, params, files);
  }
  if (none) {
    const cure = "`leasefold upload` prints the source of what it stored";
    throw new CalculationError("empty-source", `there are no files under ${params.source}; ${cure}`);
  }

  async function openFile(file: FileFact): Promise<OpenFile | undefined> {
    if (file.bytes === 0) return undefined;
    const format = fileFormat(file.path, params);
    if (format.kind === "ndjson") return { file, format, first: 0 };
    const head = await readHead(file, format, params.header, files);
    if (head === undefined) return undefined;
    columnPlaces({ file, columns: head.columns }, wanted);
    return { file, format, ...head };
  }
};

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

/** Maps in order, with up to `count` at work at once. */
export async function* aheadOf<T, R>(
  items: AsyncIterable<T>,
  count: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const queue: Promise<R>[] = [];
  for await (const item of items) {
    const result = map(item);
    // Whoever stops early never hears of it.
    result.catch(() => {});
    if (queue.push(result) === count) yield queue.shift() as Promise<R>;
  }
  yield* queue;
}
