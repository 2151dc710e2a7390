import type { AttemptTime } from "../../contract.ts";
import type { FileFact, Files } from "../../files.ts";
import { aggregateLimits } from "../limits.ts";
import { columnIndexes, readHead } from "./readHead.ts";
import { type FileFormat, fileFormat, type ReadParams } from "./readParams.ts";

const { smallGzipBytes } = aggregateLimits;

/** A file whose header is known. */
export interface OpenFile {
  readonly file: FileFact;
  readonly format: FileFormat;
  readonly first: number;
  readonly columns?: readonly string[];
}

/** What the files of one source are opened with. */
export interface Opening {
  readonly params: ReadParams;
  readonly files: Files;
  /** Columns that each CSV file must have. */
  readonly wanted: readonly string[];
  /** Of the plan; absent where nothing limits it. */
  readonly time?: AttemptTime | undefined;
}

/** Undefined for a file without a record. Throws `CalculationError` if a CSV file lacks a wanted column. */
export async function openFile(file: FileFact, opening: Opening): Promise<OpenFile | undefined> {
  if (file.bytes === 0) return undefined;
  const { params, files, wanted } = opening;
  const format = fileFormat(file.path, params);
  if (format.kind === "ndjson") return { file, format, first: 0 };
  const head = await readHead(file, format, params.header, files);
  if (head === undefined) return undefined;
  columnIndexes({ file, columns: head.columns }, wanted);
  return { file, format, ...head };
}

/** The same for a header that one small read holds, and otherwise the file as it was listed, so that many fit in memory. */
export async function openQuickly(
  file: FileFact,
  opening: Opening,
): Promise<OpenFile | FileFact | undefined> {
  try {
    return await openFile(file, { ...opening, files: oneRead(opening.files) });
  } catch (error) {
    if (error === moreNeeded) return file;
    throw error;
  }
}

/** Never leaves this file. */
const moreNeeded = new Error("the header is longer than one small read");

/** Files of which only the start can be read, in one call. */
const oneRead = (files: Files): Files => ({
  list: files.list,
  read(file, range = {}) {
    const { from = 0, to = smallGzipBytes } = range;
    const isMore = from > 0 || (range.to === undefined && file.bytes > to);
    if (isMore && from < file.bytes) throw moreNeeded;
    return files.read(file, range);
  },
});
