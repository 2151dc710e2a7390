import { dsvFormat } from "d3-dsv";
import type { Cells } from "../cells/cells.ts";
import type { CsvFormat } from "./readParams.ts";
import { textOf } from "./utf8Text.ts";

const [quote, lineFeed, carriageReturn] = [0x22, 0x0a, 0x0d] as const;

/**
 * Where the field with a quote ends that begins at `from`: before its delimiter or line end. That it is one field is checked
 * by d3-dsv; `recordBorders` has refused a quote that is not closed.
 */
export function quotedEnd(bytes: Uint8Array, from: number, delimiter: number): number {
  let at = from;
  // A doubled quote ends one quoted part and begins the next.
  while (bytes[at] === quote) {
    do at += 1;
    while (at < bytes.length && bytes[at] !== quote);
    at += 1;
  }
  // Without a quote at its start a field ends as any other.
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === delimiter || byte === lineFeed || byte === carriageReturn) return at;
  }
  return at;
}

/**
 * Collects the fields of a batch that hold a quote and has d3-dsv parse them, all in one call, as the fields of one record: so
 * what a quote means is decided by code that many people use.
 */
export class QuotedFields {
  readonly #delimiter: string;
  readonly #nulls: readonly string[];
  #copy = new Uint8Array(64 * 1024);
  #length = 0;
  /** The cell of each field, or -1 if nobody asks for it. */
  readonly #cells: number[] = [];

  constructor({ delimiter, nulls }: CsvFormat) {
    this.#delimiter = delimiter;
    this.#nulls = nulls;
  }

  get size(): number {
    return this.#cells.length;
  }

  add(bytes: Uint8Array, from: number, to: number, cell: number): void {
    if (this.#length + to - from >= this.#copy.length) {
      const grown = new Uint8Array((this.#length + to - from) * 2);
      grown.set(this.#copy);
      this.#copy = grown;
    }
    const copy = this.#copy;
    let length = this.#length;
    for (let at = from; at < to; at++) copy[length++] = bytes[at] as number;
    copy[length] = this.#delimiter.charCodeAt(0);
    this.#length = length + 1;
    this.#cells.push(cell);
  }

  /** Keeps the values of the fields from the `from`th on out of their cells: their record has no row. */
  drop(from: number): void {
    this.#cells.fill(-1, from);
  }

  /** Puts the values of all fields into their cells, and forgets them. */
  parseInto(target: Cells): void {
    const cells = this.#cells;
    if (cells.length === 0) return;
    // Without the last delimiter.
    const text = textOf(this.#copy, 0, this.#length - 1);
    const records = dsvFormat(this.#delimiter).parseRows(text);
    const [fields = []] = records;
    if (records.length !== 1 || fields.length !== cells.length) {
      throw new Error(`${cells.length} fields with quotes are ${fields.length} in ${records.length} records`);
    }
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index] as number;
      const value = fields[index] as string;
      if (cell !== -1) target.putValue(cell, value === "" || this.#nulls.includes(value) ? null : value);
    }
    cells.length = 0;
    this.#length = 0;
  }
}
