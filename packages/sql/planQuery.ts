import type { Files } from "../../src/engine/calculation/files.ts";
import { withSession } from "./duck/session.ts";
import type { SqlParams } from "./params.ts";
import { findTables, openSource, planChunks } from "./sources/planSource.ts";
import { namedColumns, statementsOf } from "./statements.ts";

/** Finds the columns of a source, splits the query and cuts the files. Throws `InputError` and `CalculationError`. */
export async function planQuery(given: SqlParams, files: Files, onPart?: (bytes: number) => void) {
  const { chunkBytes } = given;
  const tables = await findTables(given.table, files);
  const source = await withSession((session) => openSource(given, files, session));
  const columns = [...source.reader.columns, ...source.hive].map(([name]) => name);
  const named = namedColumns(given, columns);
  const statements = await statementsOf(given)(named);
  const asked = { chunkBytes, reads: statements.reads, tables, named, onPart };
  // A session is one task's at a time, and who reads a plan may wait between two inputs.
  const chunks = await withSession((session) => Array.fromAsync(planChunks(source, asked, files, session)));
  return { source, columns, statements, chunks };
}

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
  let bytesRead = 0;
  const { source, columns, statements, chunks } = await planQuery(given, files, (bytes) => {
    bytesRead += bytes;
  });
  const { map, reduce, finish, reads } = statements;
  const wanted =
    reads.columns === "all" ? undefined : new Set(reads.columns.map((name) => name.toLowerCase()));
  return {
    map,
    reduce,
    finish,
    columns: columns.filter((name) => wanted?.has(name.toLowerCase()) ?? true),
    columnsThere: columns.length,
    chunks: chunks.length,
    files: source.files.length,
    fileBytes: source.files.reduce((sum, { file }) => sum + file.bytes, 0),
    filesRead: new Set(chunks.flatMap((chunk) => chunk.files.map(({ file }) => file.path))).size,
    bytesRead,
  };
}
