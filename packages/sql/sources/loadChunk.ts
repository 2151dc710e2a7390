import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import { lineAt } from "./csvRanges.ts";
import { fileFormat } from "./fileFormat.ts";
import { type Column, headerOf, type Reader } from "./findTypes.ts";
import type { HiveColumn } from "./listSource.ts";
import { endingOf, fetchFile, fetchRanges, type LocalFile, newPath } from "./localFile.ts";
import { fetchParquet, rowNumber, rowsTest } from "./parquetFile.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** A file of a chunk, or a part of it. */
export interface ChunkFile {
  readonly file: FileFact;
  /** Bytes of CSV and NDJSON, row groups of Parquet; absent: all. */
  readonly from?: number;
  readonly to?: number;
  readonly hive?: Readonly<Record<string, string | null>>;
}

/** The input of a chunk. */
export interface SqlInput {
  readonly files: readonly ChunkFile[];
  readonly reader: Reader;
  readonly hive: readonly HiveColumn[];
  /** The files of the tables that each chunk has, by name. */
  readonly tables: Readonly<Record<string, FileFact>>;
  /** The columns that the query names. */
  readonly named: readonly string[];
}

/** Fetches the files of a chunk and makes the view `data` of them, in order. Returns the local files. */
export async function loadChunk(
  { files: parts, reader, hive }: SqlInput,
  columns: readonly string[] | "all",
  files: Files,
  session: Session,
): Promise<LocalFile[]> {
  const local: LocalFile[] = [];
  const selects: {
    readonly paths: string[];
    readonly text: (paths: string) => string;
    readonly key: string;
  }[] = [];
  for (const part of parts) {
    const found = await fetchPart(part, { reader, columns }, files, session);
    local.push(found);
    const text = await readOf(found, part, reader, session);
    const values = hive.map(
      ([name, type]) => [name, `cast(${valueText(part.hive?.[name])} as ${type})`] as const,
    );
    const select = (paths: string): string => withHive(text(paths), reader, values);
    const key = select("");
    const last = selects.at(-1);
    if (last?.key === key) last.paths.push(found.path);
    else selects.push({ paths: [found.path], text: select, key });
  }
  const all = selects.map(({ paths, text }) => text(`[${paths.map(textLiteral).join(", ")}]`));
  const [first = noRows(reader, hive), ...more] = all;
  if (more.length === 0) await session.run(`create temp view data as ${first}`);
  else {
    // An aggregate reads the selects of UNION ALL in another order, and `last` fails over them (DuckDB 1.5.5).
    const list = neededList(columns, [...reader.columns, ...hive]);
    await session.run(`create temp table "all of data" as select ${list} from (${first})`);
    for (const select of more) await session.run(`insert into "all of data" select ${list} from (${select})`);
    await session.run('create temp view data as from "all of data"');
  }
  return local;
}

/**
 * The columns that a query names: of Parquet no others are there. A query may name none, and a table needs one: its name
 * is longer than any that the query names.
 */
function neededList(columns: readonly string[] | "all", all: readonly (readonly [string, string])[]): string {
  if (columns === "all") return "*";
  const names = new Set(columns.map((name) => name.toLowerCase()));
  const needed = new Set(all.map(([name]) => name).filter((name) => names.has(name.toLowerCase())));
  const list = [...needed].map(identifier).join(", ");
  return list === "" ? `null as ${identifier(["no", ...columns].join(" "))}` : list;
}

const valueText = (value: string | null | undefined): string => (value == null ? "null" : textLiteral(value));

async function fetchPart(
  { file, from = 0, to }: ChunkFile,
  { reader, columns }: { reader: Reader; columns: readonly string[] | "all" },
  files: Files,
  session: Session,
): Promise<LocalFile> {
  const { kind, compression } = fileFormat(file.path, reader.kind);
  const path = newPath(session, endingOf(compression));
  if (kind === "parquet") {
    const groups = to === undefined ? undefined : { from, to };
    await fetchParquet({ file, groups, columns }, path, files, session);
    return { path, file, from: 0 };
  }
  if (to === undefined) {
    await fetchFile(file, path, files);
    return { path, file, from: 0 };
  }
  // A range of NDJSON was cut without reading the file: it and the next one find the same line.
  const range =
    kind === "csv"
      ? { from, to }
      : { from: await lineAt(from, file, files), to: await lineAt(to, file, files) };
  await fetchRanges(file, [range], { path }, files);
  return { path, file, from: range.from };
}

/** How a local file is read: a function of the list of paths, the same for files that may be read together. */
async function readOf(
  { path, file }: LocalFile,
  { from = 0, to }: ChunkFile,
  reader: Reader,
  session: Session,
): Promise<(paths: string) => string> {
  const { kind, columns, options } = reader;
  if (kind === "csv") return csvRead(await csvColumns(path, file, from, reader, session), from, reader);
  if (kind === "parquet") {
    const there = await session.rows(
      `describe select * from read_parquet(${textLiteral(path)}${optionsText(options)})`,
    );
    const types = there.map((row): Column => [String(row["column_name"]), String(row["column_type"])]);
    const list = selectList(columns, types, file, options);
    if (to === undefined)
      return (paths) => `select ${list} from read_parquet(${paths}${optionsText(options)})`;
    const rows = await rowsTest(path, { from, to }, session);
    return (paths) =>
      `select ${list} from read_parquet(${paths}${optionsText(options)}, ${rowNumber}=true) where ${rows}`;
  }
  const typed = columns.map(([name, type]) => `${textLiteral(name)}: ${textLiteral(type)}`).join(", ");
  const format = kind === "json" ? "auto" : "newline_delimited";
  return (paths) =>
    `select * from read_json(${paths}, format='${format}', columns={${typed}}${optionsText(options)})`;
}

/** Options that say how types are found, which they are. */
const detecting =
  /^(names|types|columns|all_varchar|normalize_names|auto_type_candidates|union_by_name|records|.*_threshold|maximum_depth|convert_.*)$/;

const optionsText = (options: Reader["options"], without: readonly string[] = []): string =>
  Object.entries(options)
    .filter(([name]) => !detecting.test(name) && !without.includes(name))
    .map(([name, value]) => `, ${name}=${value}`)
    .join("");

/** DuckDB's own buffers of CSV have 32 MB: new memory takes as much CPU as parsing does. */
const bufferBytes = 4 * sourceLimits.recordBytesMax;

function csvRead(there: readonly Column[], from: number, { columns, options }: Reader) {
  const typed = there.map(([name, type]) => `${textLiteral(name)}: ${textLiteral(type)}`).join(", ");
  const names = new Set(there.map(([name]) => name));
  const list = columns.map(([name, type]) =>
    names.has(name) ? identifier(name) : `cast(null as ${type}) as ${identifier(name)}`,
  );
  const start = from === 0 ? "" : ", header=false, skip=0";
  const more = optionsText(options, from === 0 ? [] : ["header", "skip"]);
  return (paths: string) =>
    `select ${list.join(", ")} from read_csv(${paths}, auto_detect=false, store_rejects=true, buffer_size=${bufferBytes}, columns={${typed}}${start}${more})`;
}

/** The columns of a CSV file in its own order, by its header. Throws `CalculationError` if they are not those of the source. */
async function csvColumns(
  path: string,
  file: FileFact,
  from: number,
  { columns, header, options }: Reader,
  session: Session,
): Promise<readonly Column[]> {
  const types = new Map(columns);
  const typed = (name: string): Column => [name, types.get(name) ?? "VARCHAR"];
  if (header === undefined) return columns;
  const usual = header.map(([, column]) => typed(column));
  // Only a file's first range has its header, and a file that is cut was read while planning.
  const texts = from > 0 ? [] : await headerOf(path, options, session);
  if (from > 0 || texts.join("\n") === header.map(([text]) => text).join("\n")) {
    requireAll(columns, usual, file, options);
    return usual;
  }
  const unused = [...header];
  const own = texts.map((text) => {
    const at = unused.findIndex(([one]) => one === text);
    return typed(at === -1 ? text : (unused.splice(at, 1)[0]?.[1] ?? text));
  });
  const extra = own.find(([name]) => !types.has(name));
  if (extra !== undefined)
    throw otherColumns(file, `has a column ${JSON.stringify(extra[0])} that the first files have not`);
  requireAll(columns, own, file, options);
  return own;
}

function requireAll(
  columns: readonly Column[],
  own: readonly Column[],
  file: FileFact,
  options: Reader["options"],
): void {
  const names = new Set(own.map(([name]) => name));
  const missing = columns.find(([name]) => !names.has(name));
  if (missing === undefined || options["union_by_name"] === "true") return;
  throw otherColumns(
    file,
    `has no column ${JSON.stringify(missing[0])}; --read "union_by_name=true" reads it as null`,
  );
}

const otherColumns = ({ path }: FileFact, what: string): CalculationError =>
  new CalculationError("other-columns", `${path} ${what}`);

/** The columns of the source from a Parquet file that has them in any order, and perhaps with other types. */
function selectList(
  columns: readonly Column[],
  own: readonly Column[],
  file: FileFact,
  options: Reader["options"],
): string {
  requireAll(columns, own, file, options);
  const types = new Map(own);
  return columns
    .map(([name, type]) => {
      const column = types.has(name) ? identifier(name) : "null";
      return types.get(name) === type ? column : `cast(${column} as ${type}) as ${identifier(name)}`;
    })
    .join(", ");
}

/** A column that folders name hides one of the file. */
function withHive(
  select: string,
  { columns }: Reader,
  values: readonly (readonly [string, string])[],
): string {
  if (values.length === 0) return select;
  const names = new Map(values);
  const own = columns.filter(([name]) => !names.has(name)).map(([name]) => identifier(name));
  const named = values.map(([name, value]) => `${value} as ${identifier(name)}`);
  return `select ${[...own, ...named].join(", ")} from (${select})`;
}

/** Makes `data` a view of all columns without rows, for an error that names what there is. */
export const emptyData = ({ reader, hive }: SqlInput, session: Session): Promise<void> =>
  session.run(`create or replace temp view data as ${noRows(reader, hive)}`);

function noRows({ columns }: Reader, hive: readonly HiveColumn[]): string {
  const all = new Map<string, string>([...columns, ...hive]);
  return `select ${[...all].map(([name, type]) => `cast(null as ${type}) as ${identifier(name)}`).join(", ")} where false`;
}
