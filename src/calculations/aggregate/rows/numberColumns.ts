import { CalculationError } from "../../../model/errors.ts";
import { Cells } from "../cells/cells.ts";
import { numberOf, quotedCell, shapeOf } from "../fields.ts";
import { aggregateLimits } from "../limits.ts";
import type { NumberColumn, Selection } from "../measures/measure.ts";
import { type Incidents, incidents } from "../partial/partial.ts";
import type { Field, Offender } from "../records.ts";
import { exactOf } from "../wholeNumbers.ts";

const { offendersMax } = aggregateLimits;
const unread = Number.POSITIVE_INFINITY;
const maxSafe = Number.MAX_SAFE_INTEGER;

/** The columns of a chunk that are read as numbers, and the bad numbers in them: fields that are not numbers. */
export function numberColumns(path: string, names: readonly string[], policy: "fail" | "skip") {
  const columns = new Map<number, CellNumbers>();
  const first: Offender[] = [];
  let count = 0;
  /** Bad numbers of this batch; columns are read one after the other. */
  let bad: BadNumber[] = [];
  return {
    /** The same object for the same column. */
    column(column: number): NumberColumn {
      const known = columns.get(column) ?? new CellNumbers(column, (row) => bad.push({ row, column }));
      columns.set(column, known);
      return known;
    },
    begin(batch: Cells): void {
      for (const column of columns.values()) column.begin(batch);
    },
    /** Under the policy `fail` throws `CalculationError` `bad-number` for the first bad number of the batch. */
    end(batch: Cells): void {
      if (bad.length === 0) return;
      count += bad.length;
      bad.sort((a, b) => a.row - b.row || a.column - b.column);
      for (const { row, column } of bad.slice(0, offendersMax - first.length)) {
        const offset = batch.offsetOf(row);
        const cell = batch.field(row, column);
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
  readonly row: number;
  readonly column: number;
}

/** A class, and no closures, so that V8 compiles one loop for all columns. */
class CellNumbers implements NumberColumn {
  readonly #column: number;
  readonly #onBad: (row: number) => void;
  #cells = new Cells(0);
  /** By row, so that what is no short decimal is read once, and told of once; filled when the batch has the first one. */
  #known = new Float64Array(0);
  #hasKnown = false;
  /** By place in the selection, once `#selected`. */
  #values = new Float64Array(0);
  #selected = false;

  constructor(column: number, onBad: (row: number) => void) {
    this.#column = column;
    this.#onBad = onBad;
  }

  begin(batch: Cells): void {
    this.#cells = batch;
    this.#selected = false;
    this.#hasKnown = false;
    if (this.#values.length < batch.rows) this.#values = new Float64Array(batch.rows);
  }

  of({ count, index }: Selection): Float64Array {
    if (this.#selected) return this.#values;
    for (let i = 0; i < count; i++) {
      const row = index[i] as number;
      let value = this.#near(row);
      if (value > maxSafe || value < -maxSafe) value = this.#held(row, value);
      this.#values[i] = value;
    }
    this.#selected = true;
    return this.#values;
  }

  exact(row: number): number | bigint {
    const value = this.#near(row);
    return Math.abs(value) > maxSafe ? exactOf(this.#cells.field(row, this.#column), value) : value;
  }

  #near(row: number): number {
    const plain = this.#cells.decimal(row * this.#cells.width + this.#column);
    return Number.isNaN(plain) ? this.#knownAt(row) : plain;
  }

  #knownAt(row: number): number {
    if (!this.#hasKnown) {
      const { rows } = this.#cells;
      if (this.#known.length < rows) this.#known = new Float64Array(rows);
      this.#known.fill(unread, 0, rows);
      this.#hasKnown = true;
    }
    const known = this.#known[row] as number;
    if (known !== unread) return known;
    const value = this.#unusual(row);
    this.#known[row] = value;
    return value;
  }

  /** The number of a cell that is no plain decimal. */
  #unusual(row: number): number {
    const field = this.#cells.field(row, this.#column);
    if (field === null) return Number.NaN;
    const value = numberOf(field);
    if (Number.isNaN(value)) this.#onBad(row);
    return value;
  }

  /** The large number `value` if it is the one in the field, and no other that has the same double. */
  #held(row: number, value: number): number {
    if (typeof exactOf(this.#cells.field(row, this.#column), value) === "number") return value;
    this.#onBad(row);
    return Number.NaN;
  }
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
