import { pMapIterable } from "p-map";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import type { Session } from "../duck/session.ts";
import type { SplitQuery } from "../split/splitSteps.ts";
import { firstBytes, headOf } from "./csvHead.ts";
import { type FileKind, fileFormat } from "./fileFormat.ts";
import { csvBorders } from "./findBorder.ts";
import { findReader } from "./findTypes.ts";
import { type HiveColumn, listSource, type SourceFile } from "./listSource.ts";
import type { ChunkFile, SqlInput } from "./loadChunk.ts";
import { fetchSample, newPath } from "./localFile.ts";
import { byName } from "./names.ts";
import { chosenColumns, groupBytes, groupsKept, readFooter, writeFooter } from "./parquetFile.ts";
import { checkColumns, isOpen } from "./parts.ts";
import { groupTest, pruneFiles } from "./prune.ts";
import type { Reader } from "./reader.ts";
import { parseReadOptions } from "./readOptions.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { filesPerChunk, inputBytesMax, bordersAtOnce } = sourceLimits;

/** What a source is read with: the parameters of `sql` that say so. */
export interface SourceParams {
  readonly source: string;
  readonly format: FileKind | "auto";
  readonly read: string;
  /** Types by column. */
  readonly types: Readonly<Record<string, string>>;
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
  return { ...listed, reader: await findReader(facts, { kind, given, types: params.types, files, session }) };
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

export interface PlanRequest extends Pick<SqlInput, "tables" | "hasNames"> {
  readonly chunkBytes: number;
  readonly split: Pick<SplitQuery, "reads" | "scans" | "namesAll">;
  /** Gets the bytes that are read of each file or piece of one. */
  readonly onPart?: ((bytes: number) => void) | undefined;
}

/**
 * Cuts the files of a source into chunks, in order of their names: a large file into ranges of records or row groups, and
 * small ones together. There is at least one chunk, which may have no file. Throws `CalculationError`.
 */
export async function* planChunks(
  { files: listed, hive, reader }: OpenSource,
  { chunkBytes, split, tables, hasNames, onPart = () => {} }: PlanRequest,
  files: Files,
  session: Session,
): AsyncGenerator<SqlInput> {
  const input = (chunk: readonly ChunkFile[]): SqlInput => ({ files: chunk, reader, hive, tables, hasNames });
  const isInFolders = byName(hive.map(([name]) => [name, true]));
  const own = reader.columns.filter(([name]) => !isInFolders(name));
  const cut = { reader, chunkBytes, split, test: groupTest(own, split.scans) };
  const parts = pMapIterable(
    await pruneFiles(listed, hive, split.scans, session),
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
interface Cut extends Pick<PlanRequest, "split" | "chunkBytes"> {
  readonly reader: Reader;
  /** A test of a row group's statistics. */
  readonly test: string;
}

async function partsOf(
  { file, hive }: SourceFile,
  cut: Cut,
  files: Files,
  session: Session,
): Promise<SizedPart[]> {
  const { reader, chunkBytes, split } = cut;
  const own = { file, ...(Object.keys(hive).length === 0 ? {} : { hive }) };
  const format = fileFormat(file.path, reader.kind);
  const ranges = (borders: readonly number[], more: Partial<ChunkFile> = {}): SizedPart[] =>
    [0, ...borders].map((from, index) => {
      const to = borders[index] ?? file.bytes;
      return { ...own, ...more, from, to, bytes: to - from };
    });
  const whole = [{ ...own, bytes: file.bytes }];
  if (file.bytes <= chunkBytes || format.compression !== "none" || format.kind === "json") return whole;
  if (format.kind === "parquet") {
    const footer = await readFooter(file, files);
    checkColumns(
      reader,
      footer.columns.map(({ name }) => name),
      file,
      isOpen(reader, split),
    );
    const bytes = groupBytes(footer, chosenColumns(footer, new Set(split.reads)));
    if (cut.test === "true") return packed(bytes, chunkBytes).map((one) => ({ ...own, ...one }));
    const path = newPath(session);
    await writeFooter(footer, path);
    const kept = await groupsKept(path, cut.test, session);
    return packed(
      bytes.map((one, index) => (kept[index] ? one : undefined)),
      chunkBytes,
    ).map((one) => ({ ...own, ...one }));
  }
  if (format.kind === "ndjson") {
    const count = Math.ceil(file.bytes / chunkBytes);
    return ranges(Array.from({ length: count - 1 }, (_, index) => (index + 1) * chunkBytes));
  }
  const path = newPath(session);
  await fetchSample(file, format, path, files);
  const delimiter = cutBy(reader);
  const head = await headOf(path, reader, session);
  checkColumns(reader, head.names, file);
  const isFirst = head.names.join("\n") === reader.heads[0]?.names.join("\n");
  const isCut = delimiter !== undefined && !(await isUnusual(path, delimiter));
  if (!isCut) return whole;
  return ranges(
    await csvBorders({ file, delimiter }, chunkBytes, files),
    isFirst ? {} : { names: head.names },
  );
}

/** Lines end with carriage returns alone, or spaces stand beside quotes: such files are not cut. */
async function isUnusual(path: string, delimiter: string): Promise<boolean> {
  const text = await firstBytes(path, sourceLimits.sampleBytes);
  const fields = `[${delimiter.replace(/[\\\]^-]/, "\\$&")}\\r\\n]`;
  const spaced = new RegExp(`(^|${fields})[ \\t]+"|"[ \\t]+${fields}`);
  return /\r(?!\n|$)/.test(text) || spaced.test(text);
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
