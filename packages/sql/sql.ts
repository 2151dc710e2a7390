import { defineCalculation, type ResultBytes } from "../../src/engine/calculation/contract.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { fileList } from "../../src/engine/model/fileList.ts";
import { identifier, withSession } from "./duck/session.ts";
import { mapChunk } from "./mapChunk.ts";
import { type SqlParams, sqlParams } from "./params.ts";
import {
  decodePartial,
  encodePartial,
  loadParts,
  mergeRows,
  nothing,
  type Partial,
  refuseLarge,
} from "./partial.ts";
import { planQuery } from "./planQuery.ts";
import { type SqlInput, schemaOf } from "./sources/loadChunk.ts";
import { joinRejects, refuseRejects, rejectNotes } from "./sources/rejects.ts";
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
  version: "4",
  byInput: true,
  summary: "A SQL query over many CSV, JSON or Parquet files, on DuckDB",
  params: sqlParams,
  plan: async (given, { files }) => (await planQuery(given, files)).chunks,
  setup: ({ params: given }) => statementsOf(given),
  async compute({ input, params: given, files, shared: statements }) {
    const split = await statements(schemaOf(input));
    const isSaved = given.resultFormat === "files";
    const chunk = { input, split, files, rejectsMax: given.rejectsMax, isSaved };
    return withSession((session) => mapChunk(chunk, session));
  },
  async merge(a, b, given, statements) {
    const rejects = joinRejects(a.rejects, b.rejects);
    refuseRejects(rejects, given.rejectsMax);
    if (a.saved !== undefined) return { ...a, rejects, saved: [...a.saved, ...(b.saved ?? [])] };
    const split = await statements(a.schema);
    const rows = await withSession(async (session) => {
      const merged: (readonly Uint8Array[])[] = [];
      for (const [index, cut] of split.cuts.entries())
        merged.push(await mergeRows(a.rows[index] ?? [], b.rows[index] ?? [], cut, session));
      return merged;
    });
    refuseLarge(rows, split);
    return { ...a, rejects, rows };
  },
  zero: () => nothing,
  async finish(partial, { params: given, shared: statements }) {
    if (partial === nothing) throw new CalculationError("no-chunks", "no chunk of the run could be computed");
    const { resultFormat } = given;
    const notes = rejectNotes(partial.rejects);
    if (resultFormat === "files") return fileList(partial.saved ?? [], notes);
    const { cuts, finish } = await statements(partial.schema);
    return withSession(async (session) => {
      for (const [index, cut] of cuts.entries()) {
        await loadParts(partial.rows[index] ?? [], cut, session);
        await session.run(`create temp table ${identifier(cut.name)} as ${cut.answer}`);
      }
      const { notes: more = [], ...result } = await writeRows(finish, resultFormat, session);
      return { ...result, notes: [...notes, ...more] };
    });
  },
  codec: { contentType: "application/octet-stream", encode: encodePartial, decode: decodePartial },
});
