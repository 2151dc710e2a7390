import { dsvFormat } from "d3-dsv";
import { type Cells, rawCell } from "../cells/cells.ts";
import type { CsvFormat } from "./readParams.ts";
import { textOf } from "./utf8Text.ts";

/**
 * Collects the wanted fields of a batch that hold a quote and has d3-dsv parse them, all in one call, as the fields of one
 * record: so what a quote means is decided by code that many people use.
 */
export class QuotedFields {
  readonly #delimiter: number;
  readonly #parse: (text: string) => string[][];
  readonly #nulls: readonly string[];
  #copy = new Uint8Array(1024);
  #length = 0;
  /** The cell of each field. */
  readonly #cells: number[] = [];

  constructor({ delimiter, nulls }: CsvFormat) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#parse = dsvFormat(delimiter).parseRows;
    this.#nulls = nulls;
  }

  /** Collects the raw cells from the `first` on. */
  addFrom(cells: Cells, first: number): void {
    const { bytes, kinds, starts, ends } = cells;
    const end = cells.rows * cells.width;
    for (let cell = first; cell < end; cell++) {
      if (kinds[cell] === rawCell) this.#add(bytes, starts[cell] as number, ends[cell] as number, cell);
    }
  }

  #add(bytes: Uint8Array, from: number, to: number, cell: number): void {
    if (this.#length + to - from >= this.#copy.length) {
      const grown = new Uint8Array((this.#length + to - from) * 2);
      grown.set(this.#copy);
      this.#copy = grown;
    }
    const copy = this.#copy;
    let length = this.#length;
    for (let at = from; at < to; at++) copy[length++] = bytes[at] as number;
    copy[length] = this.#delimiter;
    this.#length = length + 1;
    this.#cells.push(cell);
  }

  /** Puts the values of all fields into their cells, and forgets them. */
  parseInto(target: Cells): void {
    const cells = this.#cells;
    if (cells.length === 0) return;
    // Without the last delimiter.
    const records = this.#parse(textOf(this.#copy, 0, this.#length - 1));
    const [fields = []] = records;
    if (records.length !== 1 || fields.length !== cells.length) {
      throw new Error(`${cells.length} fields with quotes are ${fields.length} in ${records.length} records`);
    }
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index] as number;
      const value = fields[index] as string;
      target.putValue(cell, value === "" || this.#nulls.includes(value) ? null : value);
    }
    cells.length = 0;
    this.#length = 0;
  }
}
