import type { Reader, Writer } from "../partial/bytes.ts";
import type { Field } from "../records.ts";
import type { NumberColumn } from "../rows/numberColumn.ts";

/**
 * One thing that is kept for each group, such as the sum of a column, as a state that can be merged. What a group's
 * rows give must not depend on how they were cut and grouped: `merge` is exactly associative, and equal states are
 * written as equal bytes.
 */
export interface Measure<State> {
  /** Begins with the rows of one chunk. `meter` is told of bytes that grow with the values of a group. */
  start(columns: Columns, meter: Meter): Accumulator<State>;
  merge(a: State, b: State): State;
  write(state: State, out: Writer): void;
  read(from: Reader): State;
}

/** States of all groups of a chunk, side by side, so that a batch of rows is one loop. */
export interface Accumulator<State> {
  /** Adds the selected rows of a batch; `groups` is one more than the highest group seen. */
  add(selection: Selection, groups: number): void;
  state(group: number): State;
}

export interface Columns {
  /** Place of a column in each row. */
  place(column: string): number;
  /** The column as numbers; one for each name, so that a field is parsed once. */
  numbers(column: string): NumberColumn;
}

/**
 * Is told what a state grows by: its bytes in a partial, or a quarter of those in memory where that is more. Throws
 * `CalculationError` when all states of a chunk together are beyond what a partial may have; they then take at most
 * about four times that in memory.
 */
export type Meter = (bytes: number) => void;

/** `array`, or a copy of at least `length` places, filled up with `filler`. */
export function grown(
  array: Float64Array<ArrayBuffer>,
  length: number,
  filler = 0,
): Float64Array<ArrayBuffer> {
  if (array.length >= length) return array;
  const larger = new Float64Array(Math.max(length, array.length * 2, 16));
  larger.set(array);
  if (filler !== 0) larger.fill(filler, array.length);
  return larger;
}

/** The rows of a batch that the filter let through, each with its group. Valid only until the next batch. */
export interface Selection {
  readonly rows: readonly (readonly Field[])[];
  readonly count: number;
  /** `[0, count)`: place of the row in the batch. */
  readonly place: Int32Array;
  /** `[0, count)`: group of the row. */
  readonly group: Int32Array;
}

/**
 * A copy of a text that was cut from a file. V8 keeps all of the larger text alive for a part of it, so that a kept
 * key of ten letters would hold megabytes. Unpaired surrogates, which NDJSON can write and UTF-8 cannot, become U+FFFD.
 */
export const detached = (text: string): string => Buffer.from(text).toString();
