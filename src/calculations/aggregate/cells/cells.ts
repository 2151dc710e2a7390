import { isAscii } from "node:buffer";
import { decimalAt } from "../fields.ts";
import type { Field } from "../records.ts";

/** Cuts the batch that `cells` has begun into rows. Returns the records that do not fit. */
export type CutBatch = (cells: Cells) => readonly Misfit[];

/** Where a record begins in the bytes of its batch, and what is wrong with it. */
export interface Misfit {
  readonly at: number;
  readonly what: string;
}

const lineFeed = 0x0a;

/** What a cell holds: nothing, a text of the file, a JSON number of the file, a value that a parser made, or what one has to read. */
export const emptyCell = 0;
export const textCell = 1;
export const numberCell = 2;
const valueCell = 3;
export const rawCell = 4;

/** Rows that were cut, in the arrays of `Cells`. */
export interface CutRows {
  readonly kinds: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly numbers: Float64Array;
  readonly records: Int32Array;
}

/**
 * The wanted columns of a batch of records, as places in the bytes of the batch: a text or a number is made only when it
 * is needed. The cell of a row and a column is `row * width + column`. One object holds batch after batch.
 */
export class Cells {
  rows = 0;
  /** Whole records, each with its line end. */
  bytes = new Uint8Array(0);
  kinds = new Uint8Array(0);
  /** Of texts and numbers: `bytes[start, end)`. */
  starts = new Int32Array(0);
  ends = new Int32Array(0);
  /** Of the same the number, or NaN if it is no short decimal. */
  #numbers = new Float64Array(0);
  readonly width: number;
  readonly #values: Field[] = [];
  /** Where the records of the rows begin in `bytes`, which begin at `offset` of the file. */
  #records = new Int32Array(0);
  offset = 0;
  /** All bytes as text where each byte is a character, else empty; absent until a text is needed. */
  #text: string | undefined;

  constructor(width: number) {
    this.width = width;
  }

  /** Begins a batch of whole records, not empty, that begins at `offset` of the file. */
  begin(batch: Uint8Array, offset: number): void {
    // The last record of a file may lack its line end. Never a `Buffer`: V8 compiles loops over the bytes for one class.
    const lacking = batch.at(-1) !== lineFeed;
    if (lacking) {
      this.bytes = new Uint8Array(batch.length + 1);
      this.bytes.set(batch);
      this.bytes[batch.length] = lineFeed;
    } else {
      this.bytes = new Uint8Array(batch.buffer as ArrayBuffer, batch.byteOffset, batch.length);
    }
    this.rows = 0;
    this.offset = offset;
    this.#text = undefined;
  }

  /**
   * Opens the row of the record that begins at byte `record` of the batch, with empty cells, and returns its first cell.
   * It counts once `rows` is raised.
   */
  open(record: number): number {
    const { rows, width } = this;
    this.#reserve(rows + 1);
    this.#records[rows] = record;
    const first = rows * width;
    for (let cell = first; cell < first + width; cell++) this.kinds[cell] = emptyCell;
    return first;
  }

  /** Adds the first `count` rows of others. */
  append({ kinds, starts, ends, numbers, records }: CutRows, count: number): void {
    const { rows, width } = this;
    this.#reserve(rows + count);
    const cells = count * width;
    this.kinds.set(kinds.subarray(0, cells), rows * width);
    this.starts.set(starts.subarray(0, cells), rows * width);
    this.ends.set(ends.subarray(0, cells), rows * width);
    this.#numbers.set(numbers.subarray(0, cells), rows * width);
    this.#records.set(records.subarray(0, count), rows);
    this.rows += count;
  }

  putValue(cell: number, value: Field): void {
    this.kinds[cell] = value === null ? emptyCell : valueCell;
    this.#values[cell] = value;
  }

  field(row: number, column: number): Field {
    const cell = row * this.width + column;
    const kind = this.kinds[cell];
    if (kind === textCell) return this.#textOf(this.starts[cell] as number, this.ends[cell] as number);
    if (kind === numberCell) return this.decimal(cell);
    return kind === valueCell ? (this.#values[cell] as Field) : null;
  }

  /** The plain decimal that a cell holds, or NaN. */
  decimal(cell: number): number {
    const kind = this.kinds[cell];
    if (kind !== textCell && kind !== numberCell) return Number.NaN;
    const number = this.#numbers[cell] as number;
    if (!Number.isNaN(number)) return number;
    return decimalAt(this.bytes, this.starts[cell] as number, this.ends[cell] as number);
  }

  /** Whether a number of the file is digits alone, which are then what its value is written as. */
  isWhole(cell: number): boolean {
    const end = this.ends[cell] as number;
    for (let at = this.starts[cell] as number; at < end; at++) {
      const byte = this.bytes[at] as number;
      if (byte < 0x30 || byte > 0x39) return false;
    }
    return true;
  }

  /** Negative, zero or positive as the bytes of a text cell are less than, equal to or greater than others. */
  compare(cell: number, other: Uint8Array): number {
    const start = this.starts[cell] as number;
    const length = (this.ends[cell] as number) - start;
    const both = Math.min(length, other.length);
    for (let at = 0; at < both; at++) {
      const difference = (this.bytes[start + at] as number) - (other[at] as number);
      if (difference !== 0) return difference;
    }
    return length - other.length;
  }

  offsetOf(row: number): number {
    return this.offset + (this.#records[row] as number);
  }

  #textOf(start: number, end: number): string {
    this.#text ??= isAscii(this.bytes) ? this.#decoded("latin1", 0, this.bytes.length) : "";
    return this.#text === "" ? this.#decoded("utf8", start, end) : this.#text.slice(start, end);
  }

  #decoded(encoding: "latin1" | "utf8", start: number, end: number): string {
    const { buffer, byteOffset } = this.bytes;
    return Buffer.from(buffer, byteOffset + start, end - start).toString(encoding);
  }

  #reserve(count: number): void {
    if (count <= this.#records.length) return;
    const rows = Math.max(64, count, this.rows * 2);
    const cells = rows * this.width;
    this.kinds = new Uint8Array(this.kinds.buffer.transfer(cells));
    this.starts = new Int32Array(this.starts.buffer.transfer(4 * cells));
    this.ends = new Int32Array(this.ends.buffer.transfer(4 * cells));
    this.#numbers = new Float64Array(this.#numbers.buffer.transfer(8 * cells));
    this.#records = new Int32Array(this.#records.buffer.transfer(4 * rows));
    // Never with a gap, which would make the array a slow one.
    while (this.#values.length < this.kinds.length) this.#values.push(null);
  }
}
