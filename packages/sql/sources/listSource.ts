import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { refuseTwins, sameName } from "./names.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** A file of the source, with the values that its folders name, such as `{ year: "2024" }` for `year=2024/`. */
export interface SourceFile {
  readonly file: FileFact;
  readonly hive: Readonly<Record<string, string | null>>;
}

/** A column that folders name, and its type: BIGINT or DATE if every value is one, else VARCHAR. */
export type HiveColumn = readonly [name: string, type: "BIGINT" | "DATE" | "VARCHAR"];

/**
 * The files of a source in the order of their names, without empty ones and those that other tools hide (`_SUCCESS`). A
 * source is `container/prefix` or has wildcards: `*` and `?` within a folder, `**` over folders, `{a,b}`. Throws
 * `CalculationError` if there is no such file, or more than the limit.
 */
export async function listSource(source: string, files: Files) {
  const wildcard = source.search(/[*?{]/);
  const pattern = wildcard === -1 ? undefined : globPattern(source);
  const prefix = wildcard === -1 ? source : source.slice(0, wildcard);
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const found: SourceFile[] = [];
  let any = false;
  for await (const file of files.list(prefix)) {
    if (pattern !== undefined && !pattern.test(file.path)) continue;
    any = true;
    const inner = file.path.slice(folder.length).split("/");
    if (file.bytes === 0 || (file.path !== source && inner.some((part) => /^[_.]/.test(part)))) continue;
    if (found.length === sourceLimits.filesMax) throw tooMany(source);
    found.push({ file, hive: hiveOf(file.path.split("/").slice(1, -1)) });
  }
  if (found.length === 0) throw nothingIn(source, any);
  return { files: found, hive: hiveColumns(found) };
}

/** The pattern of a whole path. */
function globPattern(source: string): RegExp {
  const tokens: Readonly<Record<string, string>> = {
    "**/": "(?:.*/)?",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
    "{": "(?:",
    "}": ")",
  };
  let depth = 0;
  const body = source.replace(/\*\*\/|\*\*|[*?{},.+^$()|[\]\\]/g, (token) => {
    if (token === "{") depth += 1;
    if (token === "}" && --depth < 0) throw unevenBraces(source);
    if (token === ",") return depth > 0 ? "|" : ",";
    return tokens[token] ?? `\\${token}`;
  });
  if (depth > 0) throw unevenBraces(source);
  return new RegExp(`^${body}$`, "s");
}

function hiveOf(folders: readonly string[]): Record<string, string | null> {
  const values: Record<string, string | null> = {};
  for (const folder of folders) {
    const [, name, value] = /^([^=]+)=(.*)$/.exec(folder) ?? [];
    if (name === undefined || value === undefined) continue;
    values[name] = value === "__HIVE_DEFAULT_PARTITION__" ? null : unescaped(value);
  }
  return values;
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The columns that the folders of every file name. Values are text unless each prints back the same as another type. */
function hiveColumns(files: readonly SourceFile[]): HiveColumn[] {
  const names = Object.keys(files[0]?.hive ?? {});
  const all = new Set(files.flatMap(({ hive }) => Object.keys(hive)));
  refuseTwins(
    [...all].filter((name) => names.some((one) => sameName(one, name))),
    "folders: ",
  );
  return names
    .filter((name) => files.every(({ hive }) => Object.hasOwn(hive, name)))
    .map((name) => {
      const are = (is: (value: string) => boolean) =>
        files.every(({ hive }) => hive[name] === null || is(hive[name] ?? ""));
      return [name, are(isWhole) ? "BIGINT" : are(isDay) ? "DATE" : "VARCHAR"];
    });
}

/** Numbers and days that DuckDB prints the same. */
const isWhole = (value: string): boolean => /^(0|-?[1-9]\d{0,17})$/.test(value);
const isDay = (value: string): boolean =>
  /^(?!0000)\d{4}-\d\d-\d\d$/.test(value) && new Date(value).toJSON()?.startsWith(value) === true;

const unevenBraces = (source: string): CalculationError =>
  new CalculationError("bad-source", `${source}: each { needs a } after it, and each } a { before it`);

const tooMany = (source: string): CalculationError =>
  new CalculationError(
    "too-many-files",
    `${source} has more than ${sourceLimits.filesMax} files (filesMax); start one run for each longer prefix`,
  );

const nothingIn = (source: string, any: boolean): CalculationError =>
  any
    ? new CalculationError(
        "empty-source",
        `every file of ${source} is empty or hidden by a leading "_" or "."`,
      )
    : new CalculationError(
        "empty-source",
        `no file begins with ${source}; "leasefold upload" prints the source of what it uploaded`,
      );
