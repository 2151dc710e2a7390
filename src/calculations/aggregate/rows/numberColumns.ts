import { CalculationError } from "../../../model/errors.ts";
import { numberOf, quotedCell, shapeOf } from "../fields.ts";
import { aggregateLimits } from "../limits.ts";
import type { NumberColumn } from "../measures/measure.ts";
import { type Incidents, incidents } from "../partial/partial.ts";
import type { Field, Offender, RecordBatch, Row } from "../records.ts";
import { exactOf } from "../wholeNumbers.ts";

const { offendersMax } = aggregateLimits;
const unread = Number.POSITIVE_INFINITY;

/** The columns of a chunk that are read as numbers, and the bad numbers in them: fields that are not numbers. */
export function numberColumns(path: string, names: readonly string[], policy: "fail" | "skip") {
  const columns = new Map<number, ReturnType<typeof numberColumn>>();
  const first: Offender[] = [];
  let count = 0;
  /** Bad numbers of this batch; columns are read one after the other. */
  let bad: BadNumber[] = [];
  return {
    /** The same object for the same column. */
    column(column: number): NumberColumn {
      const known = columns.get(column) ?? numberColumn(column, (index) => bad.push({ index, column }));
      columns.set(column, known);
      return known;
    },
    begin(rows: readonly Row[]): void {
      for (const column of columns.values()) column.begin(rows);
    },
    /** Under the policy `fail` throws `CalculationError` `bad-number` for the first bad number of the batch. */
    end(batch: RecordBatch): void {
      if (bad.length === 0) return;
      count += bad.length;
      bad.sort((a, b) => a.index - b.index || a.column - b.column);
      for (const { index, column } of bad.slice(0, offendersMax - first.length)) {
        const offset = batch.offsetOf(index);
        const cell = batch.rows[index]?.[column] ?? null;
        if (policy === "fail") throw badNumber(`${path}, record at byte ${offset}: ${names[column]}`, cell);
        first.push({ path, offset, what: `${names[column]} is ${quotedCell(cell)}` });
      }
      bad = [];
    },
    /** The bad numbers in the order of the file, however it was cut into batches. */
    incidents: (): Incidents => incidents(count, first),
  };
}

interface BadNumber {
  readonly index: number;
  readonly column: number;
}

function numberColumn(column: number, onBad: (index: number) => void) {
  let rows: readonly Row[] = [];
  let values = new Float64Array(0);
  const parse = (index: number): number => {
    const field = rows[index]?.[column] ?? null;
    const value = field === null ? Number.NaN : numberOf(field);
    if (field !== null && Number.isNaN(value)) onBad(index);
    values[index] = value;
    return value;
  };
  const near = (index: number): number => {
    const value = values[index] as number;
    return value === unread ? parse(index) : value;
  };
  const exact = (index: number, value: number): number | bigint => exactOf(rows[index]?.[column], value);
  return {
    begin(batch: readonly Row[]) {
      rows = batch;
      if (values.length < batch.length) values = new Float64Array(batch.length);
      values.fill(unread, 0, batch.length);
    },
    at(index: number) {
      const value = near(index);
      if (typeof exact(index, value) === "number") return value;
      onBad(index);
      values[index] = Number.NaN;
      return Number.NaN;
    },
    exact: (index: number) => exact(index, near(index)),
  };
}

function badNumber(field: string, cell: Field): CalculationError {
  const why = Number.isNaN(numberOf(cell)) ? "which is no number" : "a whole number that no double holds";
  return new CalculationError(
    "bad-number",
    `${field} is ${shapeOf(cell)} (a: a letter, 9: a digit), ${why}; ` +
      "--bad-numbers skip counts such fields as empty and shows the first; --nulls NA counts that text in CSV as empty; " +
      "mintext, maxtext and literals in 'quotes' compare text",
  );
}
