import { type Cells, type CutBatch, type Misfit, textCell } from "../cells/cells.ts";
import { TextIds } from "../cells/textIds.ts";
import { Marks } from "./marks.ts";
import { QuotedFields, quotedEnd } from "./quotedFields.ts";
import type { CsvFormat } from "./readParams.ts";

const [lineFeed, carriageReturn, quote] = [0x0a, 0x0d, 0x22] as const;

/**
 * Cuts CSV on bytes, with the rules of d3-dsv: records end at LF, CRLF and CR alike and have any number of fields. A field
 * with a quote is parsed by d3-dsv. `wanted` are the indexes of the wanted columns among `columns` fields.
 */
export function csvCutter(format: CsvFormat, columns: number, wanted: readonly number[]): CutBatch {
  const comma = format.delimiter.charCodeAt(0);
  const marks = new Marks({ usual: comma, special: quote, limit: carriageReturn + 1 });
  const quoted = new QuotedFields(format);
  const isNull = nullTest(format.nulls);
  /** The wanted columns from left to right, and the place of each among the cells of a row. */
  const order = wanted.map((column, place) => ({ column, place })).sort((a, b) => a.column - b.column);
  const wantedColumns = Int32Array.from(order, ({ column }) => column);
  const wantedPlaces = Int32Array.from(order, ({ place }) => place);

  /** Where the record being cut begins. Its field f ends at the delimiter of index `base` + f, or with the record. */
  let record = 0;
  let base = 0;
  /** The wanted columns of the record that have been taken. */
  let taken = 0;

  /** Takes the wanted columns before `column`, of which the last one ends at `end` at most. */
  function take(cells: Cells, first: number, column: number, end: number): void {
    const { bytes } = cells;
    const { usuals } = marks;
    for (; taken < wantedColumns.length; taken++) {
      const one = wantedColumns[taken] as number;
      if (one >= column) return;
      const from = one === 0 ? record : (usuals[base + one - 1] as number) + 1;
      const to = one === column - 1 ? end : (usuals[base + one] as number);
      if (to > from && !isNull(bytes, from, to)) {
        cells.put(first + (wantedPlaces[taken] as number), textCell, from, to);
      }
    }
  }

  return (cells) => {
    const { bytes } = cells;
    const misfits: Misfit[] = [];
    const count = marks.find(bytes);
    const { usuals, specials, usualsBefore } = marks;
    let inside = 0;
    let quotedBefore = 0;
    let first = cells.open(0);
    record = base = taken = 0;
    for (let mark = 0; mark < count; mark++) {
      const at = specials[mark] as number;
      const byte = bytes[at] as number;
      if (at < inside || (byte !== lineFeed && byte !== carriageReturn && byte !== quote)) continue;
      const field = (usualsBefore[mark] as number) - base;
      if (byte === quote) {
        const from = field === 0 ? record : (usuals[base + field - 1] as number) + 1;
        take(cells, first, field, from - 1);
        inside = quotedEnd(bytes, from, comma);
        const isWanted = wantedColumns[taken] === field;
        quoted.add(bytes, from, inside, isWanted ? first + (wantedPlaces[taken++] as number) : -1);
        // Delimiters within the quotes end no field.
        while ((usuals[base + field] as number) < inside) base += 1;
        continue;
      }
      const fields = field + 1;
      const isEmpty = fields === 1 && (at === record || (at === record + 2 && bytes[record] === quote));
      if (fields === columns && !isEmpty) {
        take(cells, first, fields, at);
        cells.rows += 1;
      } else {
        quoted.drop(quotedBefore);
        const what = `has ${fields} field${fields === 1 ? "" : "s"}, not ${columns}`;
        if (!isEmpty) misfits.push({ at: record, what });
      }
      record = inside = byte === carriageReturn && bytes[at + 1] === lineFeed ? at + 2 : at + 1;
      base = usualsBefore[mark] as number;
      taken = 0;
      quotedBefore = quoted.size;
      first = cells.open(record);
    }
    quoted.parseInto(cells);
    return misfits;
  };
}

/** Whether a field that is not empty is one of the texts that count as empty. */
function nullTest(nulls: readonly string[]): (bytes: Uint8Array, from: number, to: number) => boolean {
  const ids = new TextIds();
  let longest = 0;
  for (const bytes of nulls.map((one) => Buffer.from(one))) {
    ids.idOf(bytes, 0, bytes.length);
    longest = Math.max(longest, bytes.length);
  }
  return (bytes, from, to) => to - from <= longest && ids.find(bytes, from, to) !== -1;
}
