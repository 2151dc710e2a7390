import { readFile } from "node:fs/promises";
import type { ResultBytes } from "../../src/engine/calculation/contract.ts";
import { identifier, type Session, textLiteral } from "./duck/session.ts";
import { newPath } from "./sources/localFile.ts";

const formats = ["json", "csv", "ndjson", "parquet", "arrow"] as const;
type ResultFormat = (typeof formats)[number];
/** With `files`, each chunk saves its rows as a Parquet file. */
export const resultFormats = [...formats, "files"] as const;

const contentTypes: Readonly<Record<ResultFormat, string>> = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
};

const copyOptions: Readonly<Record<Exclude<ResultFormat, "arrow">, string>> = {
  json: "format json, array true",
  csv: "format csv, header true",
  ndjson: "format json",
  parquet: "format parquet, compression zstd",
};

/** The rows of a query as a file, in their order. Parquet and Arrow have no 128-bit integers: these are DECIMAL(38, 0). */
export async function writeRows(query: string, format: ResultFormat, session: Session): Promise<ResultBytes> {
  const what = { contentType: contentTypes[format], extension: format };
  const rows = format === "parquet" || format === "arrow" ? await withoutWide(query, session) : query;
  if (format === "arrow") {
    const { arrowFile } = await import("./writeArrow.ts");
    return { body: await arrowFile(rows, session), ...what };
  }
  const path = newPath(session);
  await session.run(`copy (${rows}) to ${textLiteral(path)} (${copyOptions[format]})`);
  return { body: await readFile(path), ...what };
}

async function withoutWide(query: string, session: Session): Promise<string> {
  const { select } = await castColumns(
    query,
    (type) => /^U?HUGEINT$/.test(type) && "decimal(38, 0)",
    session,
  );
  return select;
}

/** A query with some of its columns cast to another type, and these with the type that they have. */
export async function castColumns(
  query: string,
  castTo: (type: string) => string | false,
  session: Session,
): Promise<{ select: string; cast: (readonly [name: string, type: string])[] }> {
  const columns = await session.rows(`describe ${query}`);
  const all = columns.map((row) => [String(row["column_name"]), String(row["column_type"])] as const);
  const cast = all.filter(([, type]) => castTo(type) !== false);
  const to = cast.map(([name, type]) => [name, `${castTo(type)}`] as const);
  return { select: cast.length === 0 ? query : `select ${starOf(to)} from (${query})`, cast };
}

/** All columns, some of them cast. */
export function starOf(casts: readonly (readonly [name: string, type: string])[]): string {
  const replaced = casts.map(([name, type]) => `cast(${identifier(name)} as ${type}) as ${identifier(name)}`);
  return replaced.length === 0 ? "*" : `* replace (${replaced.join(", ")})`;
}
