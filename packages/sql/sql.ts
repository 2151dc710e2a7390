import { defineCalculation, type ResultBytes } from "../../src/engine/calculation/contract.ts";
import type { Files } from "../../src/engine/calculation/files.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { fileList } from "../../src/engine/model/fileList.ts";
import { type Session, withSession } from "./duck/session.ts";
import { type SqlParams, sqlParams } from "./params.ts";
import {
  decodePartial,
  encodePartial,
  loadParts,
  nothing,
  type Partial,
  type Rows,
  saveRows,
  storeRows,
} from "./partial.ts";
import { planQuery } from "./planQuery.ts";
import { emptyData, loadChunk, type SqlInput } from "./sources/loadChunk.ts";
import { loadTables } from "./sources/loadTables.ts";
import {
  joinRejects,
  noRejects,
  type Rejects,
  refuseOtherEncoding,
  refuseRejects,
  rejectNotes,
  takeBadLines,
  takeRejects,
} from "./sources/rejects.ts";
import { type StatementsOf, statementsOf } from "./statements.ts";
import { writeRows } from "./writeRows.ts";

/**
 * A query over many files, on DuckDB: each chunk is mapped by one statement, partials are merged by another, and a third
 * makes the answer.
 *
 * Each statement runs in one thread and keeps the order of rows, and which partials are merged depends on chunk indices
 * alone. So the answer has the same bits on any number of workers, sums of doubles included.
 */
export const sql = defineCalculation<SqlParams, SqlInput, Partial, ResultBytes, StatementsOf>({
  name: "sql",
  version: "3",
  byInput: true,
  summary: "A SQL query over many CSV, JSON or Parquet files, on DuckDB",
  params: sqlParams,
  plan: async (given, { files }) => (await planQuery(given, files)).chunks,
  setup: ({ params: given }) => statementsOf(given),
  async compute({ input, params: given, files, shared: statements }) {
    const { named } = input;
    const { map, reads } = await statements(named);
    return withSession(async (session) => {
      await loadTables(input.tables, files, session);
      const store = (rejects: Rejects): Promise<Rows> =>
        given.resultFormat === "files"
          ? saveRows(map, rejects, { files, session })
          : storeRows(map, rejects, session);
      const partial = await mapChunk({ input, columns: reads.columns, files, store }, session);
      refuseRejects(partial.rejects, given.rejectsMax);
      return { ...partial, named };
    });
  },
  async merge(a, b, given, statements) {
    const { named } = a;
    const rejects = joinRejects(a.rejects, b.rejects);
    refuseRejects(rejects, given.rejectsMax);
    if (a.saved !== undefined) return { ...a, rejects, saved: [...a.saved, ...(b.saved ?? [])] };
    const { reduce } = await statements(named);
    return withSession(async (session) => {
      await loadParts([a, b], session);
      return { ...(await storeRows(reduce, rejects, session)), named };
    });
  },
  zero: () => nothing,
  async finish(partial, { params: given, shared: statements }) {
    if (partial === nothing) throw new CalculationError("no-chunks", "no chunk of the run could be computed");
    const { resultFormat } = given;
    const notes = rejectNotes(partial.rejects);
    if (resultFormat === "files") return fileList(partial.saved ?? [], notes);
    const { finish } = await statements(partial.named);
    return withSession(async (session) => {
      await loadParts([partial], session);
      return { ...(await writeRows(finish, resultFormat, session)), notes };
    });
  },
  codec: { contentType: "application/octet-stream", encode: encodePartial, decode: decodePartial },
});

interface ChunkToMap {
  readonly input: SqlInput;
  readonly columns: readonly string[] | "all";
  readonly files: Files;
  /** Stores the rows of the map. */
  store(rejects: Rejects): Promise<Rows>;
}

async function mapChunk({ input, columns, files, store }: ChunkToMap, session: Session): Promise<Rows> {
  const local = await loadChunk(input, columns, files, session);
  try {
    const partial = await store(noRejects);
    return input.reader.kind === "csv" ? { ...partial, rejects: await takeRejects(local, session) } : partial;
  } catch (error) {
    if (!(error instanceof CalculationError) || error.code !== "query-failed") throw error;
    // The columns at hand are those that the query names: asked again over all, it is refused with one that is there.
    if (error.message.includes("Binder Error")) {
      await emptyData(input, session);
      await store(noRejects);
    }
    await refuseOtherEncoding(local, input.reader);
    // DuckDB names the local copy of a file, or none.
    if (!/Invalid Input Error|JSON/.test(error.message)) throw error;
    const rejects = input.reader.kind === "ndjson" ? await takeBadLines(local) : noRejects;
    if (rejects.count > 0) return store(rejects);
    const paths = input.files.map(({ file }) => file.path);
    const which = paths.length > 1 ? `one of ${paths[0]} to ${paths.at(-1)}` : paths[0];
    throw new CalculationError(error.code, `${which}: ${error.message}`, { cause: error });
  }
}
