import { CalculationError, messageOf } from "../model/errors.ts";
import { defineCalculation } from "./contract.ts";
import type { Files } from "./files.ts";
import { type Session, withSession } from "./sql/duck/session.ts";
import { type SqlParams, sqlParams } from "./sql/params.ts";
import { decodePartial, encodePartial, loadParts, nothing, type Partial, storeRows } from "./sql/partial.ts";
import { loadChunk, type SqlInput } from "./sql/sources/loadChunk.ts";
import { loadTables } from "./sql/sources/loadTables.ts";
import { findTables, openSource, planChunks } from "./sql/sources/planSource.ts";
import {
  joinRejects,
  type Rejects,
  refuseRejects,
  rejectNotes,
  takeBadLines,
  takeRejects,
} from "./sql/sources/rejects.ts";
import { statementsOf } from "./sql/statements.ts";
import { writeRows } from "./sql/writeRows.ts";

/**
 * A query over many files, on DuckDB: each chunk is mapped by one statement, partials are merged by another, and a third
 * makes the answer.
 *
 * Each statement runs in one thread and keeps the order of rows, and which partials are merged depends on chunk indices
 * alone. So the answer has the same bits on any number of workers, sums of doubles included.
 */
export const sql = defineCalculation<SqlParams, SqlInput, Partial>({
  name: "sql",
  version: "1",
  summary: "A SQL query over many CSV, JSON or Parquet files, on DuckDB",
  params: sqlParams,
  plan: (given, { files }) => planQuery(given, files),
  async compute({ input, params: given, files }) {
    const { map, reads } = await statementsOf(given);
    return withSession(async (session) => {
      await loadTables(input.tables, files, session);
      const partial = await mapChunk(map, { input, columns: reads.columns, files }, session);
      refuseRejects(partial.rejects, given.rejectsMax);
      return partial;
    });
  },
  async merge(a, b, given) {
    const { reduce } = await statementsOf(given);
    const rejects = joinRejects(a.rejects, b.rejects);
    refuseRejects(rejects, given.rejectsMax);
    return withSession(async (session) => {
      await loadParts([a, b], session);
      return storeRows(reduce, rejects, session);
    });
  },
  zero: () => nothing,
  async finish(partial, { params: given }) {
    if (partial === nothing) throw new CalculationError("no-chunks", "no chunk of the run could be computed");
    const { finish } = await statementsOf(given);
    return withSession(async (session) => {
      await loadParts([partial], session);
      const made = await writeRows(finish, given.resultFormat, session);
      return { ...made, notes: rejectNotes(partial.rejects) };
    });
  },
  codec: { contentType: "application/octet-stream", encode: encodePartial, decode: decodePartial },
});

async function* planQuery(given: SqlParams, files: Files): AsyncGenerator<SqlInput> {
  const { reads } = await statementsOf(given);
  // A session is one task's at a time, and who reads a plan may wait between two inputs.
  yield* await withSession(async (session) => {
    const tables = await findTables(given.table, files);
    const source = await openSource(given, files, session);
    const { chunkBytes } = given;
    return Array.fromAsync(planChunks(source, { chunkBytes, reads, tables }, files, session));
  });
}

interface ChunkToMap {
  readonly input: SqlInput;
  readonly columns: readonly string[] | "all";
  readonly files: Files;
}

async function mapChunk(
  map: string,
  { input, columns, files }: ChunkToMap,
  session: Session,
): Promise<Partial> {
  const local = await loadChunk(input, columns, files, session);
  const store = (rejects: Rejects) => storeRows(map, rejects, session);
  try {
    const partial = await store({ count: 0, first: [] });
    return input.reader.kind === "csv" ? { ...partial, rejects: await takeRejects(local, session) } : partial;
  } catch (error) {
    if (input.reader.kind !== "ndjson" || !/Malformed JSON|Invalid Input Error/.test(messageOf(error)))
      throw error;
    const rejects = await takeBadLines(local);
    if (rejects.count === 0) throw error;
    return store(rejects);
  }
}
