import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Column, Schema, SplitQuery } from "../split/splitSteps.ts";
import { headOf, lineEndOf } from "./csvHead.ts";
import { fileFormat } from "./fileFormat.ts";
import { lineAt } from "./findBorder.ts";
import type { Fit } from "./fitting.ts";
import { refuseDeep } from "./jsonLevels.ts";
import type { HiveColumn } from "./listSource.ts";
import type { TableFiles } from "./loadTables.ts";
import { endingOf, fetchFile, fetchSample, type LocalFile, newPath, renamed } from "./localFile.ts";
import { byName, sameName } from "./names.ts";
import { chosenColumns, fetchGroups, readFooter, rowNumber, rowsTest } from "./parquetFile.ts";
import {
  checkColumns,
  csvPart,
  doesFit,
  isOpen,
  jsonPart,
  type NamedFit,
  partFits,
  type ReadPart,
} from "./parts.ts";
import type { Reader } from "./reader.ts";
import { refuseOtherEncoding } from "./rejects.ts";

/** A file of a chunk, or a part of it. */
export interface ChunkFile {
  readonly file: FileFact;
  /** Bytes of CSV and NDJSON, row groups of Parquet; absent: all. */
  readonly from?: number;
  readonly to?: number;
  readonly hive?: Readonly<Record<string, string | null>>;
  /** The columns of a CSV file that is cut, if they are not those of the first one in its order. */
  readonly names?: readonly string[];
}

/** The input of a chunk. */
export interface SqlInput {
  readonly files: readonly ChunkFile[];
  readonly reader: Reader;
  readonly hive: readonly HiveColumn[];
  /** The files of the tables that each chunk has, by name. */
  readonly tables: TableFiles;
  /** The query names the column `filename`, which every file has. */
  readonly hasNames: boolean;
}

/** The columns of `data`: one that folders name stands for one of the files. */
export function dataColumns({
  reader,
  hive,
  hasNames,
}: Pick<SqlInput, "reader" | "hive" | "hasNames">): Column[] {
  const ofFolders = byName(hive);
  const isOwn = byName(reader.columns.map(([name]) => [name, true]));
  const all: Column[] = [
    ...reader.columns.map(([name, type]): Column => [name, ofFolders(name) ?? type]),
    ...hive.filter(([name]) => !isOwn(name)),
  ];
  return hasNames && !hasOwnNames(all) ? [...all, ["filename", "VARCHAR"]] : all;
}

/** Whether files or folders have a column `filename` of their own, which then stands for itself. */
const hasOwnNames = (columns: readonly Column[]): boolean =>
  columns.some(([name]) => sameName(name, "filename"));

/** What a query may read, by the input of any chunk. */
export function schemaOf(input: Pick<SqlInput, "reader" | "hive" | "hasNames" | "tables">): Schema {
  const tables = Object.entries(input.tables).map(([name, { columns }]) => [name, columns] as const);
  return { columns: dataColumns(input), tables: Object.fromEntries(tables) };
}

/** A local file or part of one, and how it is read. */
export interface LoadedPart {
  readonly local: LocalFile;
  readonly read: ReadPart;
  readonly fits: readonly NamedFit[];
  /** Columns that are the same in all rows, as SQL. */
  readonly constants: readonly (readonly [name: string, value: string])[];
  /** A test of the rows that are of this part. */
  readonly rows: string;
}

/** How much of Parquet files is fetched. */
export type Fetching = "parts" | "whole";

/** Fetches the files of a chunk. Throws `CalculationError` naming a file whose columns are not those of the source. */
export async function fetchChunk(
  input: SqlInput,
  split: Pick<SplitQuery, "reads" | "namesAll">,
  files: Files,
  session: Session,
  fetching: Fetching = "parts",
): Promise<LoadedPart[]> {
  const needed = new Set(split.reads);
  const isNamed = input.hasNames && !hasOwnNames([...input.reader.columns, ...input.hive]);
  const loaded: LoadedPart[] = [];
  for (const part of input.files) {
    const constants = input.hive.map(
      ([name, type]) => [name, `cast(${valueText(part.hive?.[name])} as ${type})`] as const,
    );
    const own =
      input.reader.kind === "parquet"
        ? await fetchParquet(part, input, split, { files, session, fetching })
        : await fetchText(part, input, needed, { files, session });
    loaded.push({
      ...own,
      constants: isNamed ? [...constants, ["filename", textLiteral(part.file.path)]] : constants,
    });
  }
  return loaded;
}

const valueText = (value: string | null | undefined): string => (value == null ? "null" : textLiteral(value));

interface Fetcher {
  readonly files: Files;
  readonly session: Session;
}

async function fetchText(
  { file, from = 0, to, names }: ChunkFile,
  { reader }: SqlInput,
  needed: ReadonlySet<string>,
  { files, session }: Fetcher,
): Promise<Omit<LoadedPart, "constants">> {
  const { kind, compression } = fileFormat(file.path, reader.kind);
  let path = newPath(session, endingOf(compression));
  let first: number;
  if (to === undefined) {
    first = await fetchFile(file, path, files);
    path = await renamed(path);
  } else {
    // A range of NDJSON was cut without reading the file: it and the next one find the same line.
    const range =
      kind === "csv"
        ? { from, to }
        : { from: await lineAt(from, file, files), to: await lineAt(to, file, files) };
    first = await fetchFile(file, path, files, range);
  }
  const local = { path, file, from: first };
  if (reader.options["encoding"] !== undefined) await refuseOtherEncoding([local], reader);
  if (kind !== "csv") {
    await refuseDeep(local, kind);
    const read = jsonPart(reader);
    return { local, read, fits: partFits(reader, read([path]), needed), rows: "" };
  }
  const [usual] = reader.heads;
  if (usual === undefined) throw new CalculationError("bad-file", `${file.path}: its columns are not known`);
  const head =
    from > 0
      ? { ...usual, names: names ?? usual.names }
      : await headIn(await startOf(path, file, reader, { files, session }), file, reader, session);
  try {
    checkColumns(reader, head.names, file);
  } catch (error) {
    await refuseOtherEncoding([local], reader);
    throw error;
  }
  const { quote = "''", escape: escaping } = reader.options;
  const isPlain = (from > 0 || head.skip === 0) && escaping === quote;
  const lineEnd = isPlain ? await lineEndOf(path, quote.slice(1, -1)) : undefined;
  const read = csvPart(reader, head, from, lineEnd);
  return {
    local: { ...local, head: from > 0 ? undefined : head },
    read,
    fits: partFits(reader, read([path]), needed),
    rows: "",
  };
}

/** A local file that begins as a file does: of a packed one, its first records unpacked. */
async function startOf(path: string, file: FileFact, { kind }: Reader, { files, session }: Fetcher) {
  if (!/\.(gz|zst)$/.test(path)) return path;
  const start = newPath(session);
  await fetchSample(file, fileFormat(file.path, kind), start, files);
  return start;
}

async function headIn(path: string, file: FileFact, reader: Reader, session: Session) {
  const head = await headOf(path, reader, session);
  const first = reader.heads[0];
  if (first !== undefined && first.header !== head.header && reader.options["header"] === undefined)
    throw new CalculationError(
      "other-columns",
      `${file.path} ${head.header ? "has" : "seems to have no"} header, other than the first files; --read "header=true" or "header=false" says what all have`,
    );
  return head;
}

async function fetchParquet(
  { file, from = 0, to }: ChunkFile,
  { reader }: SqlInput,
  split: Pick<SplitQuery, "reads" | "namesAll">,
  { files, session, fetching }: Fetcher & { readonly fetching: Fetching },
): Promise<Omit<LoadedPart, "constants">> {
  const path = newPath(session);
  const footer = await readFooter(file, files);
  const all = footer.columns.map(({ name }) => name);
  checkColumns(reader, all, file, isOpen(reader, split));
  const needed = new Set(split.reads);
  const groups = { from, to: to ?? Number.MAX_SAFE_INTEGER };
  const columns = chosenColumns(footer, needed);
  const isCut = fetching === "parts" && (await fetchGroups(file, footer, { groups, columns }, path, files));
  if (!isCut) await fetchFile(file, path, files);
  const { binary_as_string: binary } = reader.options;
  const more = binary === undefined ? "" : `, binary_as_string=${binary}`;
  const rows = isCut || to === undefined ? "" : rowsTest(footer, groups);
  const numbered = rows === "" ? "" : `, ${rowNumber}=true`;
  const there = await session.columns(`from read_parquet(${textLiteral(path)}${more})`);
  const known = byName(there);
  const names = new Map(there.map(([name]) => [name, name]));
  const own = byName([...names]);
  const told = new Set(reader.told);
  const fits = reader.columns
    .filter(([name]) => needed.has(name) && known(name) !== undefined)
    .map(([name, type]) => ({
      name,
      ...fitTyped(identifier(own(name) ?? name), known(name) ?? "", type, told.has(name)),
    }));
  return {
    local: { path, file, from: 0, groups: to === undefined ? undefined : groups },
    // Files of different types are never read in one call.
    read: (paths) => ({
      from: `read_parquet([${paths.map(textLiteral).join(", ")}]${more}${numbered})`,
      names: there.map(([name, type]) => `${name} ${type}`),
    }),
    fits,
    rows,
  };
}

/** A value of a Parquet file as one of another type, if that is not another value. */
function fitTyped(column: string, from: string, to: string, isTold: boolean): Fit {
  if (from === to) return { fits: "true", value: column };
  const value = `cast(${column} as ${to})`;
  if (isTold || to === "VARCHAR") return { fits: `try_cast(${column} as ${to}) is not null`, value };
  return { fits: `try_cast(try_cast(${column} as ${to}) as ${from}) is not distinct from ${column}`, value };
}

/** The error at a text that may have been another value, which `refuseOtherThanTexts` finds out. */
export const perhapsNoText = "a value may be no text";

/** How rows that do not fit are met: with an error, or by leaving them out. */
export type Misfits = "fail" | "leave out";

/** The columns of `data` from a part, as a SELECT over any number of paths; columns that are not needed are NULL. */
function selectOf(
  { read, fits, constants, rows }: LoadedPart,
  columns: readonly Column[],
  needed: ReadonlySet<string>,
  misfits: Misfits,
): (paths: readonly string[]) => string {
  const own = new Map(fits.map((fit) => [fit.name, fit]));
  const given = byName(constants);
  const list = columns.map(([name, type]) => {
    const fit = own.get(name);
    const constant = given(name);
    if (!needed.has(name)) return `cast(null as ${type}) as ${identifier(name)}`;
    if (constant !== undefined) return `${constant} as ${identifier(name)}`;
    if (fit === undefined) return `cast(null as ${type}) as ${identifier(name)}`;
    if (fit.doubt !== undefined)
      return `case when ${fit.doubt} then error('${perhapsNoText}') else ${fit.value} end as ${identifier(name)}`;
    if (fit.fits === "true" || misfits === "leave out") return `${fit.value} as ${identifier(name)}`;
    const column = identifier(name);
    const quick = fit.quick === undefined ? "" : `when ${fit.quick} then ${fit.value} `;
    return `case ${quick}when ${fit.fits} then ${fit.value} when ${column} is not null then error('a value is not of its type') end as ${column}`;
  });
  const tests = fits.filter(({ fits }) => fits !== "true").map(doesFit);
  const where = [...(rows === "" ? [] : [rows]), ...(misfits === "leave out" ? tests : [])];
  return (paths) =>
    `select ${list.join(", ")} from ${read(paths, misfits === "fail" ? "fail" : "record").from}${where.length > 0 ? ` where ${where.join(" and ")}` : ""}`;
}

/** Makes `data` of the parts, in order: a view, or a table where more than one read would be needed. */
export async function loadData(
  parts: readonly LoadedPart[],
  {
    columns,
    needed,
    misfits,
    times,
  }: {
    readonly columns: readonly Column[];
    readonly needed: ReadonlySet<string>;
    readonly misfits: Misfits;
    /** How often statements read it. */
    readonly times: number;
  },
  session: Session,
): Promise<void> {
  const reads: {
    readonly paths: string[];
    readonly text: (paths: readonly string[]) => string;
    readonly key: string;
  }[] = [];
  for (const part of parts) {
    const text = selectOf(part, columns, needed, misfits);
    const key = `${text([])} ${part.read([]).names.join("\n")}`;
    const last = reads.at(-1);
    if (last?.key === key) last.paths.push(part.local.path);
    else reads.push({ paths: [part.local.path], text, key });
  }
  const [first = noRows(columns), ...more] = reads.map(({ paths, text }) => text(paths));
  if (more.length === 0 && times === 1) return session.run(`create or replace temp view data as ${first}`);
  // An aggregate reads the selects of UNION ALL in another order.
  const there = columns.filter(([name]) => needed.has(name)).map(([name]) => identifier(name));
  const kept = there.length > 0 ? there.join(", ") : 'null as "no column"';
  await session.run(`create or replace temp table "rows of data" as select ${kept} from (${first})`);
  for (const select of more) await session.run(`insert into "rows of data" select ${kept} from (${select})`);
  const list = columns.map(([name, type]) =>
    needed.has(name) ? identifier(name) : `cast(null as ${type}) as ${identifier(name)}`,
  );
  await session.run(`create or replace temp view data as select ${list.join(", ")} from "rows of data"`);
}

const noRows = (columns: readonly Column[]): string =>
  `select ${columns.map(([name, type]) => `cast(null as ${type}) as ${identifier(name)}`).join(", ")} where false`;
