import { isDeepStrictEqual } from "node:util";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { readAll } from "./readAll.ts";

const runs = process.env["LEASEFOLD_FULL"] === "1" ? 20_000 : 240;

/** Text with everything that splits or quotes, and characters of one to four bytes. */
const piece = fc.constantFrom(
  "a",
  "1",
  " ",
  "-0.5",
  '"',
  '""',
  ",",
  "\n",
  "\r\n",
  "\r",
  "é",
  "€",
  "😀",
  "\u2028",
  ";",
);
const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
const lineEnd = fc.constantFrom("\n", "\r\n");

interface Cell {
  readonly value: string;
  readonly quoted: boolean;
}
const cell: fc.Arbitrary<Cell> = fc.record({ value: text, quoted: fc.boolean() });
const written = ({ value, quoted }: Cell): string =>
  quoted || /[,\r\n]|^"/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;

const table = fc.integer({ min: 2, max: 4 }).chain((columns) =>
  fc.record({
    columns: fc.constant(columns),
    records: fc.array(
      fc.record({
        cells: fc.array(cell, { minLength: columns, maxLength: columns }),
        end: lineEnd,
        empty: fc.nat(9),
      }),
      { maxLength: 12 },
    ),
    mark: fc.boolean(),
    header: fc.boolean(),
    lastEnd: fc.boolean(),
    chunkBytes: fc.integer({ min: 1, max: 80 }),
    pieceBytes: fc.integer({ min: 1, max: 40 }),
  }),
);

describe("random CSV, cut anywhere", () => {
  test("random CSV, cut anywhere, is read as csv-parse reads it", async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, records, mark, header, lastEnd, chunkBytes, pieceBytes }) => {
        const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`);
        let csv = mark ? "\uFEFF" : "";
        if (header) csv += `${names.join(",")}\n`;
        for (const { cells, end, empty } of records)
          csv += (empty === 0 ? end : "") + cells.map(written).join(",") + end;
        if (!lastEnd) csv = csv.replace(/\r?\n$/, "");

        const expected = parse(csv, {
          bom: true,
          relax_quotes: true,
          record_delimiter: ["\r\n", "\n"],
          skip_empty_lines: true,
        }) as string[][];
        if (header) expected.shift();

        const files = memoryFiles(new Map([["data/x.csv", csv]]), pieceBytes);
        const { rows, offsets } = await readAll(files, names, { chunkBytes, header });
        expect(rows).toEqual(expected.map((row) => row.map((value) => value || null)));
        expect(rows).toEqual(records.map(({ cells }) => cells.map(({ value }) => value || null)));
        // Read again from where a record is said to begin, its first field is the same.
        for (const [index, offset] of offsets.entries()) {
          const first = written(records[index]?.cells[0] as Cell);
          expect(Buffer.from(csv).subarray(offset).toString().startsWith(first)).toBe(true);
        }
      }),
      { numRuns: runs },
    );
  });

  test("random CSV is read the same in one range of many batches", async () => {
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.integer({ min: 100, max: 200_000 }),
        async ({ columns, records }, pieceBytes) => {
          fc.pre(records.length > 0);
          const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`);
          const some = records.map(({ cells, end }) => cells.map(written).join(",") + end).join("");
          const times = Math.ceil(200_000 / some.length);
          const files = memoryFiles(new Map([["data/x.csv", some.repeat(times)]]), pieceBytes);
          const { rows, ranges } = await readAll(files, names, { header: false });
          expect(ranges.length).toBe(1);
          const serial = records.map(({ cells }) => cells.map(({ value }) => value || null));
          const isOther = (row: readonly unknown[], at: number): boolean =>
            !isDeepStrictEqual(row, serial[at % serial.length]);
          expect(rows.length).toBe(times * serial.length);
          expect(rows.findIndex(isOther)).toBe(-1);
        },
      ),
      { numRuns: runs / 20 },
    );
  });

  test("random CSV without line breaks in fields is read without a pass over the file", async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, records, mark, header, lastEnd, chunkBytes, pieceBytes }) => {
        const flat = records.map(({ cells, end }) => ({
          cells: cells.map(({ value, quoted }) => ({ value: value.replace(/[\r\n]/g, "_"), quoted })),
          end,
        }));
        const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`);
        let csv = `${mark ? "\uFEFF" : ""}${header ? `${names.join(",")}\r\n` : ""}`;
        for (const { cells, end } of flat) csv += cells.map(written).join(",") + end;
        if (!lastEnd) csv = csv.replace(/\r?\n$/, "");
        const files = memoryFiles(new Map([["data/x.csv", csv]]), pieceBytes);
        const { rows } = await readAll(files, names, { chunkBytes, header, quotedNewlines: false });
        expect(rows).toEqual(flat.map(({ cells }) => cells.map(({ value }) => value || null)));
      }),
      { numRuns: runs },
    );
  });

  test("random CSV with line breaks in fields fails or is read correctly under --quoted-newlines false", async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, records, chunkBytes, pieceBytes }) => {
        const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`);
        let csv = "";
        for (const { cells, end } of records) csv += cells.map(written).join(",") + end;
        const files = memoryFiles(new Map([["data/x.csv", csv]]), pieceBytes);
        try {
          const { rows } = await readAll(files, names, { chunkBytes, header: false, quotedNewlines: false });
          expect(rows).toEqual(records.map(({ cells }) => cells.map(({ value }) => value || null)));
        } catch (error) {
          if (!String(error).includes("CalculationError")) throw error;
          refused += 1;
        }
      }),
      { numRuns: runs },
    );
    expect(refused).toBeGreaterThan(runs / 20);
  });
});

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      a: fc.oneof(text, fc.double(), fc.boolean(), fc.constant(null)),
      b: fc.jsonValue({ maxDepth: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

test("random NDJSON, cut anywhere, is read as JSON.parse reads its lines", async () => {
  const property = fc.asyncProperty(
    fc.array(line, { maxLength: 12 }),
    lineEnd,
    fc.boolean(),
    fc.integer({ min: 1, max: 80 }),
    fc.integer({ min: 1, max: 40 }),
    async (lines, end, lastEnd, chunkBytes, pieceBytes) => {
      const ndjson =
        lines.map((one) => (one === undefined ? "" : JSON.stringify(one))).join(end) + (lastEnd ? end : "");
      const serial = ndjson
        .split("\n")
        .filter((one) => one.trim() !== "")
        .map((one) => JSON.parse(one));
      const files = memoryFiles(new Map([["data/x.ndjson", ndjson]]), pieceBytes);
      const { rows } = await readAll(files, ["b", "a", "toString"], { chunkBytes });
      const shown = (value: unknown) =>
        value !== null && typeof value === "object" ? JSON.stringify(value) : value;
      expect(rows).toEqual(serial.map(({ a, b }) => [shown(b), a, null]));
    },
  );
  await fc.assert(property, { numRuns: runs });
});
