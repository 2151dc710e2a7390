import { pMapIterable } from "p-map";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import type { Session } from "../duck/session.ts";
import type { Reads } from "./conditions.ts";
import { csvBorders } from "./csvRanges.ts";
import { type FileKind, fileFormat } from "./fileFormat.ts";
import { findReader, type Reader } from "./findTypes.ts";
import { type HiveColumn, listSource, type SourceFile } from "./listSource.ts";
import type { ChunkFile, SqlInput } from "./loadChunk.ts";
import { newPath } from "./localFile.ts";
import { fetchFooter, groupBytes, rowNumber } from "./parquetFile.ts";
import { groupTest, pruneFiles } from "./prune.ts";
import { parseReadOptions } from "./readOptions.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { filesPerChunk, inputBytesMax, bordersAtOnce, tableBytesMax } = sourceLimits;

/** What a source is read with: the parameters of `sql` that say so. */
export interface SourceParams {
  readonly source: string;
  readonly format: FileKind | "auto";
  readonly read: string;
  readonly chunkBytes: number;
}

/** A source whose files and columns are known. */
export interface OpenSource {
  readonly files: readonly SourceFile[];
  readonly hive: readonly HiveColumn[];
  readonly reader: Reader;
}

/** Lists the files of a source and finds their columns. Throws `CalculationError`. */
export async function openSource(params: SourceParams, files: Files, session: Session): Promise<OpenSource> {
  const listed = await listSource(params.source, files);
  const facts = listed.files.map(({ file }) => file);
  const kind = oneKind(facts, params.format);
  const given = await parseReadOptions(params.read, kind === "ndjson" ? "json" : kind, session);
  return { ...listed, reader: await findReader(facts, { kind, given, files, session }) };
}

function oneKind(files: readonly FileFact[], asked: FileKind | "auto"): FileKind {
  const [first] = files as [FileFact];
  const { kind } = fileFormat(first.path, asked);
  const other = files.find(({ path }) => fileFormat(path, asked).kind !== kind);
  if (other === undefined) return kind;
  throw new CalculationError(
    "unknown-format",
    `${first.path} is ${kind} and ${other.path} is not; narrow --source, or give --format`,
  );
}

export interface PlanRequest extends Pick<SqlInput, "tables" | "named"> {
  readonly chunkBytes: number;
  readonly reads: Reads;
  /** Gets the bytes that are read of each file or piece of one. */
  readonly onPart?: ((bytes: number) => void) | undefined;
}

/**
 * Cuts the files of a source into chunks, in order of their names: a large file into ranges of records or row groups, and
 * small ones together. There is at least one chunk, which may have no file. Throws `CalculationError`.
 */
export async function* planChunks(
  { files: listed, hive, reader }: OpenSource,
  { chunkBytes, reads, tables, named, onPart = () => {} }: PlanRequest,
  files: Files,
  session: Session,
): AsyncGenerator<SqlInput> {
  const input = (chunk: readonly ChunkFile[]): SqlInput => ({ files: chunk, reader, hive, tables, named });
  const inFolders = new Set(hive.map(([name]) => name));
  const own = reader.columns.filter(([name]) => !inFolders.has(name));
  const cut = { reader, chunkBytes, columns: reads.columns, test: groupTest(own, reads) };
  const parts = pMapIterable(
    await pruneFiles(listed, hive, reads, session),
    (one) => partsOf(one, cut, files, session),
    { concurrency: bordersAtOnce, backpressure: 4 * bordersAtOnce },
  );
  let open: ChunkFile[] = [];
  let [bytes, names, none] = [0, 0, true];
  for await (const found of parts)
    for (const part of found) {
      const name = Buffer.byteLength(JSON.stringify(part));
      const isFull = open.length === filesPerChunk || names + name > inputBytesMax;
      if (open.length > 0 && (isFull || bytes + part.bytes > chunkBytes)) {
        yield input(open);
        none = false;
        [open, bytes, names] = [[], 0, 0];
      }
      const { bytes: more, ...file } = part;
      open.push(file);
      bytes += more;
      onPart(more);
      names += name;
    }
  if (open.length > 0 || none) yield input(open);
}

type SizedPart = ChunkFile & { readonly bytes: number };

/** How files are cut, and what of a Parquet file counts. */
interface Cut extends Pick<Reads, "columns"> {
  readonly reader: Reader;
  readonly chunkBytes: number;
  /** A test of a row group's statistics. */
  readonly test: string;
}

async function partsOf(
  { file, hive }: SourceFile,
  cut: Cut,
  files: Files,
  session: Session,
): Promise<SizedPart[]> {
  const { reader, chunkBytes } = cut;
  const own = { file, ...(Object.keys(hive).length === 0 ? {} : { hive }) };
  const { kind, compression } = fileFormat(file.path, reader.kind);
  const ranges = (borders: readonly number[]): SizedPart[] =>
    [0, ...borders].map((from, index) => {
      const to = borders[index] ?? file.bytes;
      return { ...own, from, to, bytes: to - from };
    });
  const whole = [{ ...own, bytes: file.bytes }];
  if (file.bytes <= chunkBytes || compression !== "none" || kind === "json") return whole;
  if (kind === "parquet") {
    if (reader.columns.some(([name]) => name.toLowerCase() === rowNumber)) return whole;
    const path = newPath(session);
    await fetchFooter(file, path, files);
    const groups = await groupBytes(path, cut, session);
    return packed(groups, chunkBytes).map((one) => ({ ...own, ...one }));
  }
  if (kind === "ndjson") {
    const count = Math.ceil(file.bytes / chunkBytes);
    return ranges(Array.from({ length: count - 1 }, (_, index) => (index + 1) * chunkBytes));
  }
  const delimiter = cutBy(reader);
  if (delimiter === undefined) return whole;
  return ranges(await Array.fromAsync(csvBorders({ file, first: 0, delimiter }, chunkBytes, files)));
}

/** The delimiter, if the file is cut: its quotes must be the usual ones, and its line feeds single bytes. */
function cutBy({ options }: Reader): string | undefined {
  const { delim = "','", quote, encoding = "" } = options;
  const delimiter = delim.slice(1, -1);
  const isUsual = quote === `'"'` && options["escape"] === quote && delimiter.length === 1;
  return isUsual && !/utf-?16/i.test(encoding) ? delimiter : undefined;
}

/** Neighboring row groups of at most so many bytes together, without those that have none. */
function packed(groups: readonly (number | undefined)[], bytesMax: number) {
  const parts: { from: number; to: number; bytes: number }[] = [];
  for (const [index, bytes] of groups.entries()) {
    if (bytes === undefined) continue;
    const last = parts.at(-1);
    if (last?.to === index && last.bytes + bytes <= bytesMax) {
      last.to = index + 1;
      last.bytes += bytes;
    } else parts.push({ from: index, to: index + 1, bytes });
  }
  return parts;
}

/** The files of the tables that every chunk has: `rates=inputs/rates.csv`. Throws `CalculationError`. */
export async function findTables(given: readonly string[], files: Files): Promise<Record<string, FileFact>> {
  const tables: Record<string, FileFact> = {};
  for (const one of given) {
    const [, name = "", path = ""] = /^([^=]+)=(.+)$/.exec(one) ?? [];
    const [file] = await Array.fromAsync(files.list(path));
    if (file?.path !== path)
      throw new CalculationError("file-missing", `table ${name}: there is no file ${path}`);
    if (file.bytes > tableBytesMax)
      throw new CalculationError(
        "file-too-large",
        `table ${name}: ${path} has ${file.bytes} bytes; the limit is ${tableBytesMax} (tableBytesMax)`,
      );
    tables[name] = file;
  }
  return tables;
}
