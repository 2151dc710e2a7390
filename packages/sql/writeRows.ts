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
export async function writeRows(
  select: string,
  format: ResultFormat,
  session: Session,
): Promise<ResultBytes> {
  // Of two columns with one name, which JSON cannot have, a subquery renames the second.
  const query = `from (${select}\n)`;
  const what = { contentType: contentTypes[format], extension: format };
  const rows = format === "parquet" || format === "arrow" ? await withoutWide(query, session) : query;
  if (format === "arrow") {
    const { arrowFile } = await import("./writeArrow.ts");
    return { body: await arrowFile(rows, session), ...what };
  }
  const path = newPath(session);
  await session.run(`copy (${rows}) to ${textLiteral(path)} (${copyOptions[format]})`);
  const body = await readFile(path);
  return format === "json" || format === "ndjson" ? { ...strictJson(body), ...what } : { body, ...what };
}

/** JSON has no NaN and no infinities, which DuckDB writes as bare words: they are null, and a note says so. */
function strictJson(body: Buffer): Pick<ResultBytes, "body" | "notes"> {
  if (!body.includes("NaN") && !body.includes("Infinity")) return { body };
  let count = 0;
  const text = body.toString("latin1").replace(/"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/g, (token) => {
    if (token.startsWith('"')) return token;
    count += 1;
    return "null";
  });
  if (count === 0) return { body };
  const note = `${count} value${count === 1 ? " is" : "s are"} NaN or infinite, which JSON cannot say: null in the result; csv, parquet and arrow keep them`;
  return { body: Buffer.from(text, "latin1"), notes: [note] };
}

async function withoutWide(query: string, session: Session): Promise<string> {
  const columns = await session.columns(query);
  const wide = columns.filter(([, type]) => /^U?HUGEINT$/.test(type));
  if (wide.length === 0) return query;
  const casts = wide.map(([name]) => `cast(${identifier(name)} as decimal(38, 0)) as ${identifier(name)}`);
  return `select * replace (${casts.join(", ")}) from (${query})`;
}
