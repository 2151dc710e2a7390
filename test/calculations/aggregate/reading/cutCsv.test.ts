import { csvParseRows } from "d3-dsv";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Cells } from "../../../../src/calculations/aggregate/cells/cells.ts";
import { csvCutter } from "../../../../src/calculations/aggregate/reading/cutCsv.ts";
import { recordBorders } from "../../../../src/calculations/aggregate/reading/recordBorders.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";

const token = fc.oneof(
  fc.constantFrom("x", "1.5", "é", "😀", "NA", "\0", "\t", " "),
  fc.constantFrom(",", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', '","'),
  // Over the borders of what the kernel reads at once.
  fc.nat(70).map((length) => "y".repeat(length)),
  fc.string({ maxLength: 5 }).map((text) => `"${text.replaceAll('"', '""')}"`),
  fc.constantFrom(",a,b\n", ',"a",\n', '"a\nb",c,d\r\n'),
);
const texts = fc.array(token, { minLength: 1, maxLength: 40 }).map((tokens) => tokens.join(""));

/** Whether all quotes are closed, and nothing but the end of a field follows them: other texts are refused before they are cut. */
function isStrict(bytes: Uint8Array): boolean {
  const borders = recordBorders({ path: "x", from: 0, stride: 1, delimiter: "," });
  try {
    borders.push(bytes);
    borders.end();
    return true;
  } catch {
    return false;
  }
}

function cut(bytes: Uint8Array, columns: number, wanted: readonly number[], nulls: readonly string[]) {
  const cells = new Cells(wanted.length);
  const cutBatch = csvCutter({ kind: "csv", gzip: false, delimiter: ",", nulls }, columns, wanted);
  cells.begin(bytes, 0);
  const misfits = cutBatch(cells);
  const rows = Array.from({ length: cells.rows }, (_, row) =>
    wanted.map((_, place) => cells.field(row, place)),
  );
  return { rows, misfits, offsets: rows.map((_, row) => cells.offsetOf(row)) };
}

test("records of CSV are cut as d3-dsv cuts them, with any of their columns and quotes in those and others", {
  timeout: full ? 3_600_000 : 60_000,
}, () => {
  let quoted = 0;
  let refused = 0;
  const wanted = fc.constantFrom([0, 1, 2], [2, 0], [1], []);
  fc.assert(
    fc.property(
      texts,
      fc.integer({ min: 1, max: 3 }),
      wanted,
      fc.boolean(),
      (text, columns, some, hasNulls) => {
        const bytes = Buffer.from(text);
        fc.pre(isStrict(bytes));
        const order = some.filter((column) => column < columns);
        const nulls = hasNulls ? ["NA", "1.5"] : [];
        const { rows, misfits, offsets } = cut(bytes, columns, order, nulls);
        const records = csvParseRows(text).filter((fields) => fields.length !== 1 || fields[0] !== "");
        const fitting = records.filter((fields) => fields.length === columns);
        const fieldOf = (value = ""): string | null => (value === "" || nulls.includes(value) ? null : value);
        expect(rows).toEqual(fitting.map((fields) => order.map((column) => fieldOf(fields[column]))));
        const ragged = records.filter((fields) => fields.length !== columns).map(({ length }) => length);
        expect(misfits.map(({ what }) => Number(/\d+/.exec(what)?.[0]))).toEqual(ragged);
        const parsedAt = (at: number) => csvParseRows(bytes.subarray(at).toString())[0];
        expect(offsets.map(parsedAt)).toEqual(fitting);
        expect(misfits.map(({ at }) => parsedAt(at)?.length)).toEqual(ragged);
        if (text.includes('"')) quoted += 1;
        refused += ragged.length;
      },
    ),
    { numRuns: full ? 200_000 : 4_000 },
  );
  expect(quoted).toBeGreaterThan(500);
  expect(refused).toBeGreaterThan(500);
});

test.each([0, 3_000, 30_000, 200_000, 2_000_000])(
  "batches with a field of %d bytes and without one take turns in the memory of the kernel",
  (length) => {
    const long = "z".repeat(length);
    for (const text of [`a,"b",${long}\n${"1,2,3\n".repeat(20_000)}`, "4,5,6\n"]) {
      const { rows, misfits } = cut(Buffer.from(text), 3, [2, 1], []);
      expect(misfits).toEqual([]);
      const expected = csvParseRows(text).map(([, b = null, c = null]) => [c || null, b]);
      expect(rows.length).toBe(expected.length);
      expect(rows.findIndex(([c, b], at) => c !== expected[at]?.[0] || b !== expected[at]?.[1])).toBe(-1);
    }
  },
);
