import { readFile } from "node:fs/promises";
import type { ResultBytes } from "../contract.ts";
import { identifier, type Session, textLiteral } from "./duck/session.ts";
import { newPath } from "./sources/localFile.ts";

export const resultFormats = ["json", "csv", "ndjson", "parquet"] as const;
export type ResultFormat = (typeof resultFormats)[number];

const contentTypes: Readonly<Record<ResultFormat, string>> = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
};

const copyOptions: Readonly<Record<ResultFormat, string>> = {
  json: "format json, array true",
  csv: "format csv, header true",
  ndjson: "format json",
  parquet: "format parquet, compression zstd",
};

/** The rows of a query as a file, in their order. Parquet has no 128-bit integers, so these become DECIMAL(38, 0). */
export async function writeRows(query: string, format: ResultFormat, session: Session): Promise<ResultBytes> {
  const path = newPath(session);
  let from = `(${query})`;
  if (format === "parquet") {
    const columns = await session.rows(`describe ${query}`);
    const wide = columns.filter((row) => /^U?HUGEINT$/.test(String(row["column_type"])));
    const names = wide.map((row) => identifier(String(row["column_name"])));
    const casts = names.map((name) => `cast(${name} as decimal(38, 0)) as ${name}`);
    if (casts.length > 0) from = `(select * replace (${casts.join(", ")}) from (${query}))`;
  }
  await session.run(`copy ${from} to ${textLiteral(path)} (${copyOptions[format]})`);
  return { body: await readFile(path), contentType: contentTypes[format], extension: format };
}
