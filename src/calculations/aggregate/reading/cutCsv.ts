import { dsvFormat } from "d3-dsv";
import { type Cells, type CutBatch, emptyCell, type Misfit, rawCell, textCell } from "../cells/cells.ts";
import { TextIds } from "../cells/textIds.ts";
import { CutKernel } from "./cutKernel.ts";
import type { CsvFormat } from "./readParams.ts";
import { textOf } from "./utf8Text.ts";

/**
 * Cuts CSV on bytes, with the rules of d3-dsv: records end at LF, CRLF and CR alike and have any number of fields. A wanted
 * field with a quote is parsed by d3-dsv. `wanted` are the indexes of the wanted columns among `columns` fields.
 */
export function csvCutter(format: CsvFormat, columns: number, wanted: readonly number[]): CutBatch {
  const places = new Int32Array(columns).fill(-1);
  for (const [place, column] of wanted.entries()) places[column] = place;
  const kernel = new CutKernel({
    width: wanted.length,
    table: new Uint8Array(places.buffer),
    task: [columns, format.delimiter.charCodeAt(0)],
  });
  const quoted = new QuotedFields(format);
  const isNull = format.nulls.length === 0 ? undefined : nullTest(format.nulls);

  return (cells) => {
    const misfits: Misfit[] = [];
    kernel.begin(cells);
    for (let at = 0; at < cells.bytes.length; ) {
      const first = cells.rows * cells.width;
      at = kernel.cut("cutRecords", cells, at);
      if (kernel.hasRaw) quoted.addFrom(cells, first);
      if (isNull !== undefined) emptyWhere(cells, first, isNull);
      const { stopped } = kernel;
      if (stopped === undefined) continue;
      const what = `has ${stopped.fields} field${stopped.fields === 1 ? "" : "s"}, not ${columns}`;
      misfits.push({ at: stopped.at, what });
    }
    quoted.parseInto(cells);
    return misfits;
  };
}

type BytesTest = (bytes: Uint8Array, from: number, to: number) => boolean;

function emptyWhere(cells: Cells, first: number, test: BytesTest): void {
  const { bytes, kinds, starts, ends } = cells;
  for (let cell = first; cell < cells.rows * cells.width; cell++) {
    if (kinds[cell] === textCell && test(bytes, starts[cell] as number, ends[cell] as number))
      kinds[cell] = emptyCell;
  }
}

/** Whether a field that is not empty is one of the texts that count as empty. */
function nullTest(nulls: readonly string[]): BytesTest {
  const ids = new TextIds();
  let longest = 0;
  for (const bytes of nulls.map((one) => Buffer.from(one))) {
    ids.idOf(bytes, 0, bytes.length);
    longest = Math.max(longest, bytes.length);
  }
  return (bytes, from, to) => to - from <= longest && ids.find(bytes, from, to) !== -1;
}

/**
 * Collects the wanted fields of a batch that hold a quote and has d3-dsv parse them, all in one call, as the fields of one
 * record: so what a quote means is decided by code that many people use.
 */
class QuotedFields {
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
