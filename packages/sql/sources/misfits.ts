import { readFile } from "node:fs/promises";
import { CalculationError, messageOf } from "../../../src/engine/model/errors.ts";
import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Column } from "../split/splitSteps.ts";
import { fitText, isOneOf } from "./fitting.ts";
import type { LoadedPart } from "./loadChunk.ts";
import { localPieces } from "./localFile.ts";
import { doesFit, holdTests, jsonPart } from "./parts.ts";
import type { Reader } from "./reader.ts";
import { joinRejects, noRejects, type Rejects } from "./rejects.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** Finds the records of a chunk of which a value is not of its column's type, after a statement has failed. */
export async function findMisfits(
  parts: readonly LoadedPart[],
  reader: Reader,
  session: Session,
): Promise<Rejects> {
  let found = noRejects;
  for (const part of parts) {
    const tested = part.fits.filter(({ fits }) => fits !== "true");
    if (tested.length === 0) continue;
    const { from } = part.read([part.local.path], "record");
    const unknown = holdTests(reader, part.read([])).filter(
      ({ name, path }) => reader.valueless.includes(path) && tested.some((fit) => fit.name === name),
    );
    const misfits = tested.map((fit) => ({ name: fit.name, path: undefined, test: `not ${doesFit(fit)}` }));
    const bad = [...unknown, ...misfits];
    const which = `case ${bad.map(({ test }, index) => `when ${test} then ${index}`).join(" ")} end`;
    const where = part.rows === "" ? "" : ` where ${part.rows}`;
    const rows = await session.rows(
      `select n, i, count(*) over () as count from (select row_number() over () as n, ${which} as i from ${from}${where}) where i is not null order by n limit ${sourceLimits.rejectsShown}`,
    );
    const wider = await widerTypes(part, reader, from, session);
    const left =
      rows.length > 0 && reader.kind === "csv"
        ? await rejectedBytes(part.local.path, session)
        : new Set<number>();
    const first = [];
    for (const { n, i } of rows) {
      const { name = "", path } = bad[Number(i)] ?? {};
      const type = reader.columns.find(([one]) => one === name)?.[1] ?? "";
      const by = reader.told.includes(name) ? "as it was said" : "which the first files suggested";
      const advice = reader.told.includes(name)
        ? ""
        : `; say --types ${quotedName(name)}=${wider.get(name) ?? (/\]$|^(STRUCT|MAP)/.test(type) && reader.kind !== "csv" ? "JSON" : "VARCHAR")}`;
      const [what, likely] = path === identifier(name) ? ["the column ", "DOUBLE"] : ["", "JSON"];
      const why =
        path !== undefined
          ? `${what}${path} has no value in the first files, so its type is not known; say --types ${quotedName(name)}=${likely}, or what it is`
          : `the value of column "${name}" does not fit ${type}, ${by}${advice}`;
      first.push({ file: part.local.file.path, byte: await byteOf(part, reader, Number(n), left), why });
    }
    found = joinRejects(found, { count: Number(rows[0]?.["count"] ?? 0), first });
  }
  return found;
}

/**
 * Throws `CalculationError` for a column of JSON that has another value among texts, which makes of all of them JSON to DuckDB.
 * Otherwise gives the parts, to be read without doubt.
 */
export async function refuseOtherThanTexts(
  parts: readonly LoadedPart[],
  reader: Reader,
  session: Session,
): Promise<LoadedPart[]> {
  for (const { local, fits } of parts)
    for (const { name } of fits.filter(({ doubt }) => doubt !== undefined)) {
      const { from } = jsonPart({ ...reader, columns: [[name, "JSON"]] })([local.path]);
      const column = identifier(name);
      const [row] = await session.rows(
        `select ${column}::varchar as v from ${from} where json_type(${column}) not in ('VARCHAR', 'NULL') limit 1`,
      );
      if (row !== undefined)
        throw new CalculationError(
          "bad-record",
          `${local.file.path}: the value ${String(row["v"]).slice(0, 40)} of column "${name}" is no text, which the first files suggested; say --types ${quotedName(name)}=JSON, or =VARCHAR`,
        );
    }
  return parts.map((part) => ({ ...part, fits: part.fits.map((fit) => ({ ...fit, doubt: undefined })) }));
}

/** Throws `CalculationError` for a column of JSON that has another value where its type has an object or an array. */
export async function refuseOtherStructure(
  parts: readonly LoadedPart[],
  reader: Reader,
  session: Session,
): Promise<void> {
  if (reader.kind !== "ndjson" && reader.kind !== "json") return;
  for (const { local, fits } of parts)
    for (const { name } of fits) {
      const columns = reader.columns.filter(([one]) => one === name);
      const { from } = jsonPart({ ...reader, columns })([local.path]);
      const count = `select count(${identifier(name)}) from ${from}`;
      await session.rows(count).catch((cause: unknown) => {
        if (!(cause instanceof Error && messageOf(cause.cause).includes("JSON transform error"))) return;
        const message = `${local.file.path}: a value of column "${name}" does not fit ${columns[0]?.[1]}; say --types ${quotedName(name)}=JSON`;
        throw new CalculationError("bad-record", message, { cause });
      });
    }
}

/**
 * Throws `CalculationError` for a CSV file in which more records may be bad than DuckDB can record: it counts no memory for them,
 * and nothing interrupts it among them. Each bad record has a line end that no good one has.
 */
export async function refuseManyRejects(
  parts: readonly LoadedPart[],
  { columns, options }: Reader,
  session: Session,
): Promise<void> {
  for (const { local, read } of parts) {
    const { from, names } = read([local.path], "pass over");
    const ends = names.map((name) => {
      const text = `replace(${identifier(name)}, chr(13) || chr(10), chr(10))`;
      return `coalesce(sum(strlen(${text}) - strlen(replace(replace(${text}, chr(10), ''), chr(13), ''))), 0)`;
    });
    const [row] = await session.rows(`select count(*) + ${ends.join(" + ")} as n from ${from}`);
    // An empty line is a record of a single column, or where records may be short.
    const withEmpty = columns.length < 2 || options["null_padding"] === "true";
    const left = (await lineEnds(local.path, withEmpty)) - Number(row?.["n"]);
    if (left <= sourceLimits.rejectsMax) continue;
    const message =
      `${local.file.path}: some ${left} lines are no records of the source, ` +
      `which is more than can be left out of one chunk (${sourceLimits.rejectsMax}); say how it is written with --read`;
    throw new CalculationError("bad-file", message);
  }
}

async function lineEnds(path: string, withEmpty: boolean): Promise<number> {
  let last = 0;
  let isEmpty = true;
  const endsIn = (piece: Buffer): number => {
    let count = 0;
    for (const byte of piece) {
      const isRest = byte === 0x0a && last === 0x0d;
      const isEnd = byte === 0x0d || byte === 0x0a;
      if (isEnd && !isRest && (withEmpty || !isEmpty)) count += 1;
      if (!isRest) isEmpty = isEnd;
      last = byte;
    }
    return count;
  };
  let count = 0;
  for await (const piece of localPieces(path)) count += endsIn(piece);
  return count;
}

/** A name as `--types` takes it. */
export const quotedName = (name: string): string => (/^\w+$/.test(name) ? name : `'"${name}"'`);

/** The types that hold what others hold and more. */
const widerType = (type: string): string | undefined =>
  type === "DATE" ? "TIMESTAMP" : /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type) ? "DOUBLE" : undefined;

/** For columns that have a wider type, that type if all values fit it. */
async function widerTypes(
  { fits }: LoadedPart,
  { kind, columns, options }: Reader,
  from: string,
  session: Session,
): Promise<Map<string, string>> {
  const wider = columns.flatMap(([name, own]: Column) => {
    const type = widerType(own);
    return type !== undefined && fits.some((fit) => fit.name === name) ? [{ name, type }] : [];
  });
  if (wider.length === 0 || kind === "parquet") return new Map();
  const tests = wider.map(({ name, type }) => {
    const { fits: fit } = fitText(`${identifier(name)}::varchar`, { type, isTold: false, options });
    return `coalesce(bool_and(${isOneOf(identifier(name), fit)}), true) as ${identifier(name)}`;
  });
  const [row = {}] = await session.rows(`select ${tests.join(", ")} from ${from}`);
  return new Map(wider.map(({ name, type }) => [name, row[name] === true ? type : "VARCHAR"]));
}

/** Where the records begin that DuckDB itself has left out. */
async function rejectedBytes(path: string, session: Session): Promise<Set<number>> {
  const there = await session.rows("select 1 from duckdb_tables() where table_name = 'reject_errors'");
  if (there.length === 0) return new Set();
  const rows = await session.rows(
    `select distinct line_byte_position - 1 as byte from reject_errors join reject_scans using (scan_id, file_id) where file_path = ${textLiteral(path)}`,
  );
  return new Set(rows.map(({ byte }) => Number(byte)));
}

/** Where the `n`th record begins of those that a file or its part has, but for some; of Parquet the number itself. */
async function byteOf(
  { local }: LoadedPart,
  { kind, options }: Reader,
  n: number,
  without: ReadonlySet<number>,
): Promise<number> {
  if (kind === "parquet" || kind === "json" || /\.(gz|zst)$/.test(local.path)) return n;
  const bytes = await readFile(local.path);
  const quote = kind === "csv" ? (options["quote"] ?? `'"'`).slice(1, -1).charCodeAt(0) : -1;
  const { skip = 0, header = false } = local.head ?? {};
  let left = n + (header ? 1 : 0);
  let [isQuoted, start, line] = [false, 0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) isQuoted = !isQuoted;
    const isEnd = byte === 0x0a || (byte === 0x0d && bytes[at + 1] !== 0x0a);
    if (!isEnd || isQuoted) continue;
    line += 1;
    const isEmpty = bytes.subarray(start, at).every((one) => one === 0x0d);
    if (line > skip && !isEmpty && !without.has(start) && --left === 0) break;
    start = at + 1;
  }
  return local.from + start;
}
