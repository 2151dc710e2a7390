import * as z from "zod";
import { Cells } from "../../../src/calculations/aggregate/cells/cells.ts";
import { mergePartials, type PartialBytes } from "../../../src/calculations/aggregate/partial/partial.ts";
import { queryOf } from "../../../src/calculations/aggregate/query.ts";
import type { Field, Offender } from "../../../src/calculations/aggregate/records.ts";
import { foldRange } from "../../../src/calculations/aggregate/rows/foldRange.ts";
import { type Output, writeResult } from "../../../src/calculations/aggregate/writeResult.ts";
import { type AnyCalculation, defineCalculation } from "../../../src/calculations/contract.ts";
import { runCompute, runFinish } from "../../../src/calculations/runJob.ts";
import { chunkParts } from "../../support/coveringParts.ts";

/** A table in memory. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Field[])[];
}

export interface RowsQuery {
  readonly by?: string;
  readonly aggregates: string;
  readonly where?: string;
  readonly badNumbers?: "fail" | "skip";
  readonly output?: Output;
}

/** Rows `[from, to)` of the table, handed over in batches that end at `borders`. */
export interface RowsInput {
  readonly from: number;
  readonly to: number;
  readonly borders?: readonly number[];
  readonly skipped?: readonly Offender[];
}

/** `aggregate` over rows in memory: all of it but the reading. A row's offset is its place times ten. */
export function rowsCalculation(table: Table, query: RowsQuery): AnyCalculation {
  const { badNumbers = "fail", output = "json", by = "", where = "", aggregates } = query;
  const parsed = queryOf({ by, aggregates, where });
  const places = parsed.wanted.map((column) => table.columns.indexOf(column));
  return defineCalculation<unknown, RowsInput, PartialBytes>({
    name: "rows",
    summary: "",
    params: z.unknown(),
    plan: () => 0,
    compute({ input: { from, to, borders = [], skipped = [] } }) {
      const folding = foldRange(parsed, badNumbers, "box/table");
      const cuts = [from, ...borders.filter((border) => border > from && border < to), to];
      for (const [at, start] of cuts.slice(0, -1).entries()) {
        folding.add(cellsOf(table.rows.slice(start, cuts[at + 1]), places, start * 10));
      }
      return folding.done({
        records: to - from,
        bytes: (to - from) * 10,
        skipped: skipped.length,
        offenders: skipped,
        absent: [],
      });
    },
    merge: (a, b) => mergePartials(a, b, parsed.measures),
    zero: () =>
      foldRange(parsed, badNumbers, "").done({
        ...{ records: 0, bytes: 0, skipped: 0, offenders: [] },
        absent: parsed.wanted,
      }),
    finish: (partial) => writeResult(parsed, partial, output),
    codec: { contentType: "", encode: (partial) => partial, decode: (bytes) => bytes },
  });
}

/** Rows as a parser gives them, each ten bytes behind the other. */
function cellsOf(rows: Table["rows"], places: readonly number[], offset: number): Cells {
  const cells = new Cells(places.length);
  cells.begin(Buffer.from("\n"), offset);
  for (const row of rows) {
    const first = cells.open(cells.rows * 10);
    for (const [column, place] of places.entries()) cells.putValue(first + column, row[place] as Field);
    cells.rows += 1;
  }
  return cells;
}

/** The partial of chunks `inputs`, folded as one pack. */
export const packOf = (calculation: AnyCalculation, inputs: readonly RowsInput[]): Promise<Uint8Array> =>
  runCompute(calculation, { params: {}, from: 0, to: inputs.length, count: inputs.length, inputs });

/** The result of the whole table as text. */
export async function resultText(table: Table, query: RowsQuery): Promise<string> {
  const calculation = rowsCalculation(table, query);
  const parts = [await packOf(calculation, [{ from: 0, to: table.rows.length }])];
  const { body } = await runFinish(calculation, {
    params: {},
    parts: chunkParts(parts),
    folded: 1,
    count: 1,
  });
  return Buffer.from(body).toString();
}

/** The groups of the whole table. */
export async function resultOf(
  table: Table,
  query: RowsQuery,
): Promise<{ rows: Record<string, unknown>[]; report: Record<string, unknown> }> {
  return JSON.parse(await resultText(table, { ...query, output: "json" }));
}
