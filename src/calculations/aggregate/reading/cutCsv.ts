import { type Cells, type CutBatch, emptyCell, type Misfit, textCell } from "../cells/cells.ts";
import { TextIds } from "../cells/textIds.ts";
import { CutKernel } from "./cutKernel.ts";
import { QuotedFields } from "./quotedFields.ts";
import type { CsvFormat } from "./readParams.ts";

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
