import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { CalculationError, messageOf } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import type { Column } from "../split/splitSteps.ts";
import { type CsvHead, firstBytes, type Sniffed, sniffCsv, typesOf } from "./csvHead.ts";
import { type FileKind, fileFormat } from "./fileFormat.ts";
import { refuseDeep } from "./jsonLevels.ts";
import { endingOf, fetchFile, fetchSample, newPath, renamed } from "./localFile.ts";
import { quotedName } from "./misfits.ts";
import { byName, hasRenamed, refuseTwins, sameName } from "./names.ts";
import { readFooter, writeFooter } from "./parquetFile.ts";
import {
  csvPart,
  doesFit,
  extraColumn,
  holdTests,
  jsonPart,
  type Part,
  partFits,
  refuseOtherDelimiter,
} from "./parts.ts";
import type { Reader } from "./reader.ts";
import type { ReadOptions } from "./readOptions.ts";
import { refuseOtherEncoding, takeBadLines } from "./rejects.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { samplesMax } = sourceLimits;

interface Finding {
  readonly kind: FileKind;
  readonly given: ReadOptions;
  /** Types that the user said, by column. */
  readonly types: Readonly<Record<string, string>>;
  readonly files: Files;
  readonly session: Session;
}

/** Finds dialect and types from the first megabyte of some of the files. Throws `CalculationError`. */
export async function findReader(listed: readonly FileFact[], finding: Finding): Promise<Reader> {
  const { kind, given, types, files, session } = finding;
  const step = Math.max(1, Math.ceil(listed.length / samplesMax));
  const chosen = listed.filter((_, index) => index % step === 0);
  const paths: string[] = [];
  for (const file of chosen) {
    const format = fileFormat(file.path, kind);
    if (kind === "parquet") {
      paths.push(newPath(session));
      await writeFooter(await readFooter(file, files), paths.at(-1) ?? "");
      continue;
    }
    const isWhole = kind === "json" || /utf-?16/i.test(given["encoding"] ?? "");
    let path = newPath(session, isWhole ? endingOf(format.compression) : "");
    await (isWhole ? fetchFile(file, path, files) : fetchSample(file, format, path, files));
    if (isWhole) path = await renamed(path);
    await refuseOtherEncoding([{ path, file }], { kind, options: given });
    await refuseDeep({ path, file }, kind);
    if (kind === "ndjson") {
      const { count } = await takeBadLines([{ path, file, from: 0 }]);
      if (count > 0 && (await firstBytes(path, 1)) === "")
        throw new CalculationError(
          "bad-file",
          `${file.path}: no line is a whole JSON object; --format json reads objects over several lines`,
        );
    }
    paths.push(path);
  }
  const samples = paths.map((path, index) => ({ path, file: chosen[index] as FileFact }));
  const found = await readerOf(samples, finding);
  const known = byName(found.columns.map((one) => [one[0], one]));
  const unknown = Object.keys(types).find((name) => known(name) === undefined);
  if (unknown !== undefined) {
    const names = found.columns.map(([name]) => name).join(", ");
    throw new CalculationError("bad-query", `--types ${unknown}: there is no such column: ${names}`);
  }
  const asked = byName(await typesOf(Object.entries(types), session));
  return { ...found, columns: found.columns.map(([name, type]) => [name, asked(name) ?? type]) };
}

interface Sample {
  readonly path: string;
  readonly file: FileFact;
}

async function readerOf(samples: readonly Sample[], finding: Finding): Promise<Reader> {
  const { kind, given, session } = finding;
  const [first] = samples;
  try {
    if (kind === "csv") return await findCsv(samples, finding);
    if (kind !== "parquet") return await findJson(samples, kind, finding);
    const call = `read_parquet([${samples.map(({ path }) => textLiteral(path)).join(", ")}], union_by_name=true)`;
    const columns = await session.columns(`select * from ${call}`);
    return { kind, columns, options: given, told: toldColumns(finding, columns), heads: [], valueless: [] };
  } catch (error) {
    if (error instanceof CalculationError && error.code !== "query-failed") throw error;
    throw new CalculationError(
      "bad-file",
      `${first?.file.path}: its columns are not found: ${messageOf(error)}`,
    );
  }
}

async function findCsv(samples: readonly Sample[], finding: Finding): Promise<Reader> {
  const { given, session } = finding;
  const sniffed: Sniffed[] = [];
  for (const { path, file } of samples)
    sniffed.push(await sniffCsv(path, { ...pinned(sniffed[0]), ...given }, session).catch(inFile(file)));
  const [first] = sniffed as [Sniffed];
  // Days may be written otherwise than DuckDB does in a file that is not the first.
  const options = { ...Object.assign({}, ...sniffed.map(({ dialect }) => dialect).toReversed()), ...given };
  const isUnion = options["union_by_name"] === "true";
  const columns: Column[] = [];
  for (const [at, { columns: own, head }] of sniffed.entries()) {
    if (at > 0) refuseOtherDelimiter(head.names, { columns, options }, (samples[at] as Sample).file);
    for (const [name, type] of own) {
      const known = columns.findIndex(([one]) => sameName(one, name));
      const before = columns[known];
      if (before !== undefined) columns[known] = [before[0], bothTypes(before[1], type, isUnion)];
      else if (at === 0 || isUnion) columns.push([name, type]);
      else throw extraColumn(samples[at]?.file.path ?? "", name);
    }
  }
  const told = toldColumns(finding, columns);
  if (isUnion) refuseZones(sniffed, told);
  const heads = sniffed.map(({ head }) => head);
  const isNew = ({ text, names }: CsvHead, at: number): boolean =>
    heads.findIndex((one) => one.text === text && one.names.join("\n") === names.join("\n")) === at;
  const reader: Reader = {
    ...{ kind: "csv", columns, options, told, heads: heads.filter(isNew), valueless: [] },
    comment: sniffed.find(({ comment }) => comment !== undefined)?.comment,
  };
  const reads = samples.map(({ path }, at) =>
    csvPart(reader, heads[at] ?? first.head, 0)([path], "pass over"),
  );
  const texts = sniffed.flatMap((one) => one.columns.filter(([, type]) => type === "VARCHAR"));
  const isText = byName(texts.map(([name]) => [name, true]));
  return checkedReader(reader, reads, session, (name) => isText(name) === true);
}

const inFile =
  ({ path }: FileFact) =>
  (error: unknown): never => {
    throw new CalculationError("bad-file", `${path}: its columns are not found: ${messageOf(error)}`, {
      cause: error,
    });
  };

/** The dialect of the first file, which holds for the others. */
const pinned = (first: Sniffed | undefined): ReadOptions =>
  Object.fromEntries(
    Object.entries(first?.dialect ?? {}).filter(([name]) => /^(delim|quote|escape)$/.test(name)),
  );

/** The columns whose types the user said. */
function toldColumns({ given, types }: Finding, columns: readonly Column[]): string[] {
  const texts = [given["types"], given["columns"]].filter((one) => one !== undefined);
  if (texts.some((text) => text.startsWith("["))) return columns.map(([name]) => name);
  const named = texts.flatMap((text) =>
    [...text.matchAll(/'((?:[^']|'')*)': /g)].map(([, name = ""]) => name.replaceAll("''", "'")),
  );
  const names = [...named, ...Object.keys(types)];
  return columns.map(([name]) => name).filter((name) => names.some((one) => sameName(one, name)));
}

/**
 * The type that DuckDB finds for the values of two files, by those of their samples: text where none holds both, and for days
 * beside times unless columns are united by their names.
 */
function bothTypes(a: string, b: string, isUnion: boolean): string {
  // A column without values is text to the sniffer.
  if (a === b || b === "VARCHAR") return a;
  if (a === "VARCHAR") return b;
  const pair = [a, b];
  if (pair.includes("BIGINT") && pair.includes("DOUBLE")) return "DOUBLE";
  if (!isUnion || !pair.every((one) => times.includes(one))) return "VARCHAR";
  return times.find((one) => pair.includes(one)) ?? "VARCHAR";
}

const zoned = "TIMESTAMP WITH TIME ZONE";
const times = [zoned, "TIMESTAMP", "DATE"];

/** Throws `CalculationError` where DuckDB makes NULL of what a file has, since another has times with a zone. */
function refuseZones(sniffed: readonly Sniffed[], told: readonly string[]): void {
  const all = sniffed
    .flatMap(({ columns }) => columns)
    .filter(([name]) => !told.some((one) => sameName(one, name)));
  for (const [name, type] of all) {
    if (type !== zoned) continue;
    const other = all.find(([one, own]) => sameName(one, name) && ![...times, "VARCHAR"].includes(own));
    if (other !== undefined)
      throw new CalculationError(
        "bad-file",
        `column ${name}: some files hold ${zoned}, and others ${other[1]}; say --types ${quotedName(name)}=VARCHAR`,
      );
  }
}

/** What a column may be whose values do not all fit its type, best first. */
const others: Readonly<Record<string, readonly string[]>> = {
  BIGINT: ["HUGEINT", "DOUBLE"],
  DOUBLE: ["HUGEINT"],
  TIMESTAMP: ["TIMESTAMP WITH TIME ZONE"],
};

/** A reader whose types every value of the samples has, by the test that chunks make. Some columns are text in some samples. */
async function checkedReader(
  given: Reader,
  reads: readonly Part[],
  session: Session,
  isText: (name: string) => boolean = () => false,
): Promise<Reader> {
  let reader = given;
  const told = new Set(given.told);
  for (let tries = 0; ; tries += 1) {
    const failed = new Set<string>();
    const isHeld = new Map<string, boolean>();
    for (const read of reads) {
      const fits = partFits(reader, read);
      const holds = holdTests(reader, read);
      const tests = [
        ...fits.map((fit, at) => `coalesce(bool_and(${doesFit(fit)}), true) as f${at}`),
        ...holds.map(({ test }, at) => `coalesce(bool_or(${test}), false) as h${at}`),
      ];
      const [row = {}] =
        tests.length === 0 ? [] : await session.rows(`select ${tests.join(", ")} from ${read.from}`);
      for (const [at, { name }] of fits.entries())
        if (row[`f${at}`] === false && !told.has(name)) failed.add(name);
      for (const [at, { path }] of holds.entries())
        isHeld.set(path, isHeld.get(path) === true || row[`h${at}`] === true);
    }
    const valueless = [...isHeld.keys()].filter((path) => isHeld.get(path) === false);
    if (failed.size === 0) return { ...reader, valueless };
    const columns = reader.columns.map(([name, type], at): Column => {
      if (!failed.has(name)) return [name, type];
      const next = others[given.columns[at]?.[1] ?? type]?.[tries];
      if (next === undefined && /^(DATE|TIME)/.test(type) && !isText(name)) throw otherDays(name, type);
      return [name, next ?? "VARCHAR"];
    });
    reader = { ...reader, columns };
  }
}

/** DuckDB reads them all, as one file writes its days and times or as another does. */
const otherDays = (name: string, type: string): CalculationError =>
  new CalculationError(
    "bad-file",
    `column ${name}: each file seems to hold ${type}, and not all are written alike; say --types ${quotedName(name)}=VARCHAR, or how with --read`,
  );

async function findJson(
  samples: readonly Sample[],
  kind: "ndjson" | "json",
  finding: Finding,
): Promise<Reader> {
  const { session } = finding;
  const { types, columns: fixed, ...options } = finding.given;
  const list = `[${samples.map(({ path }) => textLiteral(path)).join(", ")}]`;
  const more = Object.entries(options).map(([name, value]) => `, ${name}=${value}`);
  const format = kind === "json" ? "auto" : "newline_delimited";
  const call = `read_json(${list}, format='${format}', union_by_name=true, sample_size=-1${more.join("")}`;
  const found = await session.columns(
    `select * from ${call}${fixed === undefined ? "" : `, columns=${fixed}`})`,
  );
  await refuseKeyTwins(list, format, found, session);
  const own =
    types === undefined ? [] : await session.columns(`select * from read_json(${list}, columns=${types})`);
  const columns = [...new Map([...found, ...own])];
  const told = toldColumns(finding, columns);
  const reader: Reader = { kind, columns, options, told, heads: [], valueless: [] };
  const reads = samples.map(({ path }) => jsonPart(reader)([path]));
  return checkedReader(reader, reads, session);
}

/** DuckDB renames the second of two keys that differ only in case, and then finds no key of that name. */
async function refuseKeyTwins(
  list: string,
  format: string,
  found: readonly Column[],
  session: Session,
): Promise<void> {
  if (!hasRenamed(found.map(([name]) => name))) return;
  const objects = `read_json(${list}, format='${format}', records=false, columns={'o': 'JSON'})`;
  const rows = await session.rows(`select distinct unnest(json_keys(o)) as key from ${objects} order by 1`);
  refuseTwins(rows.map(({ key }) => String(key)));
}
