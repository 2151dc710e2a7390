import type { FileFact } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { identifier, textLiteral } from "../duck/session.ts";
import type { SplitQuery } from "../split/splitSteps.ts";
import type { CsvHead, LineEnd } from "./csvHead.ts";
import { type Fit, fitJson, fitText, holdsValue, isOneOf, jsonReadType, parseType } from "./fitting.ts";
import { byName, sameName } from "./names.ts";
import type { Reader } from "./reader.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** How local files, or parts of them, are read: what stands in FROM, and the columns that it gives. */
export interface Part {
  readonly from: string;
  /** Columns of the source that are there, by their names in the source. */
  readonly names: readonly string[];
}

/**
 * How records of CSV are met that are none of the source: with an error at the first one; by recording each, for which DuckDB
 * keeps some 400 bytes until the whole file is read; or without a word.
 */
type BadRecords = "fail" | "record" | "pass over";

/** Without `bad` it fails. */
export type ReadPart = (paths: readonly string[], bad?: BadRecords) => Part;

/** Options that say how types are found, which they are. */
const detecting =
  /^(names|types|columns|all_varchar|normalize_names|auto_type_candidates|union_by_name|records|(date|timestamp)format|thousands|decimal_separator|header|skip|.*_threshold|maximum_depth|convert_.*)$/;

const optionsText = (options: Reader["options"]): string =>
  Object.entries(options)
    .filter(([name]) => !detecting.test(name))
    .map(([name, value]) => `, ${name}=${value}`)
    .join("");

const listText = (paths: readonly string[]): string => `[${paths.map(textLiteral).join(", ")}]`;

/** Text columns of CSV files, or of their parts that begin after byte 0 and have no head. */
export function csvPart(
  { columns, options }: Reader,
  head: CsvHead,
  from: number,
  lineEnd: LineEnd | undefined = undefined,
): ReadPart {
  const known = byName(columns.map(([name]) => [name, name]));
  const names = head.names.map((name) => known(name) ?? name);
  const typed = names.map((name) => `${textLiteral(name)}: 'VARCHAR'`).join(", ");
  const start = from > 0 ? "header=false, skip=0" : `header=${head.header}, skip=${head.skip}`;
  const end = lineEnd === undefined || options["new_line"] !== undefined ? "" : `, new_line='${lineEnd}'`;
  const more = `auto_detect=false, buffer_size=${sourceLimits.csvBufferBytes}, ${start}${end}${optionsText(options)}`;
  return (paths, bad = "fail") => ({
    from: `read_csv(${listText(paths)}, columns={${typed}}, ${more}${badRecords[bad]})`,
    names,
  });
}

const badRecords: Readonly<Record<BadRecords, string>> = {
  fail: "",
  record: ", store_rejects=true",
  "pass over": ", ignore_errors=true",
};

/** Values of JSON files as they stand. */
export function jsonPart({ kind, columns, options, told }: Reader): ReadPart {
  const typed = columns.map(
    ([name, type]) =>
      `${textLiteral(name)}: ${textLiteral(jsonReadType(parseType(type), told.includes(name)))}`,
  );
  const format = kind === "json" ? "auto" : "newline_delimited";
  const more = `format='${format}'${optionsText(options)}`;
  return (paths) => ({
    from: `read_json(${listText(paths)}, columns={${typed.join(", ")}}, ${more})`,
    names: columns.map(([name]) => name),
  });
}

/** Whether a value is NULL or one of its type, as SQL. */
export const doesFit = ({ name, fits }: NamedFit): string =>
  fits === "true" ? fits : isOneOf(identifier(name), fits);

export type NamedFit = Fit & { readonly name: string };

/** How columns that are there become those of the source; only the needed ones, if they are given. */
export function partFits(reader: Reader, { names }: Part, needed?: ReadonlySet<string>): NamedFit[] {
  const there = new Set(names);
  const told = new Set(reader.told);
  const valueless = new Set(reader.valueless);
  const fields = reader.fields && new Set(reader.fields);
  return reader.columns
    .filter(([name]) => there.has(name) && (needed?.has(name) ?? true))
    .map(([name, type]) => {
      const column = identifier(name);
      if (valueless.has(column)) return { name, fits: "false", value: `cast(null as ${type})` };
      const claim = { isTold: told.has(name), options: reader.options, valueless, fields };
      const fit =
        reader.kind === "csv" ? fitText(column, { type, ...claim }) : fitJson(column, parseType(type), claim);
      return { name, ...fit };
    });
}

/** Tests whether columns hold a value, and whether all within them that is JSON does. */
export function holdTests(
  { columns, told, fields }: Reader,
  { names }: Part,
): { name: string; path: string; test: string }[] {
  const there = columns.filter(([name]) => names.includes(name) && !told.includes(name));
  const counting = fields && new Set(fields);
  return there.flatMap(([name, type]) => {
    const column = identifier(name);
    const inner = /\]$|^(STRUCT|MAP)\(/.test(type) ? holdsValue(column, parseType(type), counting) : [];
    return [[column, `${column} is not null`] as const, ...inner].map(([path, test]) => ({
      name,
      path,
      test,
    }));
  });
}

/** Throws `CalculationError` for a CSV file whose only column is all of another file's, with another delimiter between them. */
export function refuseOtherDelimiter(
  own: readonly string[],
  { columns, options }: Pick<Reader, "columns" | "options">,
  { path }: Pick<FileFact, "path">,
): void {
  if (options["delim"] === undefined) return;
  const [only = "", ...more] = own;
  const inName = /[^\w\s]|\t/.exec(only)?.[0];
  if (more.length > 0 || columns.length < 2 || inName === undefined) return;
  const names = only.split(inName);
  if (!names.every((name) => columns.some(([one]) => sameName(one, name)))) return;
  throw new CalculationError(
    "other-columns",
    `${path} has its columns between ${JSON.stringify(inName)}, and the first files between ${options["delim"]}; start one run for each`,
  );
}

/** Throws `CalculationError` if a file lacks a column of the source or has another one. */
export function checkColumns(
  { columns, options }: Pick<Reader, "columns" | "options">,
  own: readonly string[],
  { path }: FileFact,
  isOpen = false,
): void {
  refuseOtherDelimiter(own, { columns, options }, { path });
  const extra = own.find((name) => !columns.some(([one]) => sameName(one, name)));
  if (extra !== undefined && !isOpen)
    throw extraColumn(path, extra, options["union_by_name"] === "true" ? "" : unite);
  const missing = columns.find(([name]) => !own.some((one) => sameName(one, name)));
  if (missing === undefined || options["union_by_name"] === "true") return;
  throw new CalculationError(
    "other-columns",
    `${path} has no column ${JSON.stringify(missing[0])}; --read "union_by_name=true" reads it as null`,
  );
}

/** Columns that a source has not may be in a file of Parquet, unless the answer depends on which there are. */
export const isOpen = ({ kind, options }: Reader, { namesAll }: Pick<SplitQuery, "namesAll">): boolean =>
  kind === "parquet" && !namesAll && options["union_by_name"] !== "true";

export const extraColumn = (path: string, name: string, advice = unite): CalculationError =>
  new CalculationError(
    "other-columns",
    `${path} has a column ${JSON.stringify(name)} that the first files have not${advice}`,
  );

const unite = '; --read "union_by_name=true" reads it as null where it is missing';
