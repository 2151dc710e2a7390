import type { Cells } from "../cells/cells.ts";
import type { Reader, Writer } from "../partial/bytes.ts";
import type { Field } from "../records.ts";

/** One column of the current batch as numbers; each is parsed when it is first needed. */
export interface NumberColumn {
  /**
   * By place in the selection: the number in that row; NaN for an empty field and for a bad number. A whole number that
   * no double holds is a bad one: an answer from the double next to it would be wrong without a word.
   */
  of(selection: Selection): Float64Array;
  /** The number in a row, exact also for such a whole number, which compares as a bigint. To be called before `of`. */
  exact(row: number): number | bigint;
}

/**
 * Something kept for each group, such as the sum of a column, as a state that can be merged. It must not depend on how
 * the rows were cut and grouped: `merge` is exactly associative, and equal states are written as equal bytes.
 */
export interface Measure<State> {
  /** Begins with the rows of one chunk. */
  start(columns: Columns, meter: Meter): Accumulator<State>;
  merge(a: State, b: State): State;
  write(state: State, out: Writer): void;
  read(from: Reader): State;
}

/** States of all groups of a chunk, side by side, so that a batch of rows is one loop. */
interface Accumulator<State> {
  /** Adds the selected rows of a batch; `groups` is one more than the highest group so far. */
  add(selection: Selection, groups: number): void;
  /** To be called once for each group. */
  state(group: number): State;
}

export interface Columns {
  /** Index of a column among the wanted ones. */
  indexOf(column: string): number;
  /** The column as numbers; the same object for the same name, so that a field is parsed once. */
  numbers(column: string): NumberColumn;
}

/**
 * Counts the bytes by which a state grows, or shrinks if negative: those in a partial, or a quarter of those in memory
 * where that is more. Throws `CalculationError` when the states of a chunk exceed a partial's limit; they then take at most
 * about four times that in memory.
 */
export type Meter = (bytes: number) => void;

/** The rows of a batch that passed the filter, each with its group. Valid only until the next batch. */
export interface Selection {
  readonly cells: Cells;
  readonly count: number;
  /** `[0, count)`: index of the row in the batch. */
  readonly index: Int32Array;
  /** `[0, count)`: group of the row. */
  readonly group: Int32Array;
}

/** Calls `add` for each selected row whose field in the column is not empty. */
export function eachField(
  { cells, count, index, group }: Selection,
  column: number,
  add: (field: Exclude<Field, null>, group: number) => void,
): void {
  for (let i = 0; i < count; i++) {
    const field = cells.field(index[i] as number, column);
    if (field !== null) add(field, group[i] as number);
  }
}

/** `array`, or its contents with at least `length` elements, filled up with `filler`. */
export function grown(array: Float64Array<ArrayBuffer>, length: number, filler = 0) {
  if (array.length >= length) return array;
  const before = array.length;
  const larger = new Float64Array(array.buffer.transfer(8 * Math.max(length, before * 2, 16)));
  return filler === 0 ? larger : larger.fill(filler, before);
}

/** How often a value came. */
export interface Count<Value> {
  readonly value: Value;
  readonly count: number;
}

/** Adds up counts that are sorted by `order`. */
export function mergeCounts<Value>(
  a: readonly Count<Value>[],
  b: readonly Count<Value>[],
  order: (a: Value, b: Value) => number,
): Count<Value>[] {
  const all: Count<Value>[] = [];
  for (let i = 0, j = 0; ; ) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined) return all.concat(b.slice(j));
    if (right === undefined) return all.concat(a.slice(i));
    const sign = order(left.value, right.value);
    const count = (sign <= 0 ? left.count : 0) + (sign >= 0 ? right.count : 0);
    all.push({ value: sign <= 0 ? left.value : right.value, count });
    if (sign <= 0) i++;
    if (sign >= 0) j++;
  }
}

/**
 * A copy of a text that was cut from a file: V8 keeps the whole file's text alive for a slice of it. Unpaired surrogates,
 * which NDJSON can write and UTF-8 cannot, become U+FFFD.
 */
export const detached = (text: string): string => Buffer.from(text).toString();
