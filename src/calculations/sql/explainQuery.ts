import type { Files } from "../files.ts";
import { withSession } from "./duck/session.ts";
import type { SqlParams } from "./params.ts";
import { findTables, openSource, planChunks } from "./sources/planSource.ts";
import { namedColumns, statementsOf } from "./statements.ts";

/** How a query would be computed. */
export interface ExplainedQuery {
  readonly map: string;
  readonly reduce: string;
  readonly finish: string;
  /** The columns of data that are read, of all. */
  readonly columns: readonly string[];
  readonly columnsThere: number;
  readonly chunks: number;
  /** Files of the source, and their bytes. */
  readonly files: number;
  readonly fileBytes: number;
  /** Files with rows that the query may need, and the bytes that are read of them. */
  readonly filesRead: number;
  readonly bytesRead: number;
}

/** Explains a query over a source; it reads what planning reads, and no rows. Throws `InputError` and `CalculationError`. */
export async function explainQuery(given: SqlParams, files: Files): Promise<ExplainedQuery> {
  const tables = await findTables(given.table, files);
  const source = await withSession((session) => openSource(given, files, session));
  const there = [...source.reader.columns, ...source.hive].map(([name]) => name);
  const named = namedColumns(given, there);
  const { map, reduce, finish, reads } = await statementsOf(given, named);
  let bytesRead = 0;
  const onPart = (bytes: number): void => {
    bytesRead += bytes;
  };
  const asked = { chunkBytes: given.chunkBytes, reads, tables, named, onPart };
  const chunks = await withSession((session) => Array.fromAsync(planChunks(source, asked, files, session)));
  const wanted =
    reads.columns === "all" ? undefined : new Set(reads.columns.map((name) => name.toLowerCase()));
  return {
    ...{ map, reduce, finish },
    columns: there.filter((name) => wanted?.has(name.toLowerCase()) ?? true),
    columnsThere: there.length,
    chunks: chunks.length,
    files: source.files.length,
    fileBytes: source.files.reduce((sum, { file }) => sum + file.bytes, 0),
    filesRead: new Set(chunks.flatMap((chunk) => chunk.files.map(({ file }) => file.path))).size,
    bytesRead,
  };
}
