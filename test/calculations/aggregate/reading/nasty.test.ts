import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { csvParseRows } from "d3-dsv";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CalculationError } from "../../../../src/model/errors.ts";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { duckdb } from "../duckdb.ts";
import { readAll } from "./readAll.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const columns = ["a", "b", "c"];

/** Bytes that split or quote, that are in no text, and characters of one to four bytes, anywhere. */
const soup = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("x", "12.5", " ", ",", ",", ",", "\n", "\n", "\r\n") },
      {
        weight: 2,
        arbitrary: fc.constantFrom("\r", "\0", "\u{FEFF}", "é", "€", "😀", "\u2028", "\t", '5" pipe'),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom('"q"', '"a,b"', '"a\nb"', '"a\r\nb,"', '"say ""so"""', '""', '"\r"'),
      },
      { weight: 1, arbitrary: fc.constantFrom('"', '""x', 'x"') },
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(""));

/** Records that fit, each written in a way that every reader takes. */
const cell = fc.oneof(
  fc.constantFrom("x", "", "-0.5", '5" pipe', "é€😀", "a\u2028b", " blank "),
  fc.constantFrom('"a,b"', '"line\nbreak"', '"say ""so"""', '""', '" "', '"é,€"'),
);
const fitting = fc.array(fc.tuple(fc.tuple(cell, cell, cell), fc.constantFrom("\n", "\r\n")), {
  minLength: 1,
  maxLength: 40,
});

const borders = fc.record({
  chunkBytes: fc.integer({ min: 1, max: 90 }),
  pieceBytes: fc.integer({ min: 1, max: 50 }),
});

const orNull = (record: readonly string[]): (string | null)[] => record.map((value) => value || null);
const isEmpty = (record: readonly string[]): boolean => record.length === 1 && record[0] === "";

const read = (
  csv: string | Uint8Array,
  { chunkBytes, pieceBytes }: { chunkBytes: number; pieceBytes: number },
) =>
  readAll(memoryFiles(new Map([["data/x.csv", csv]]), pieceBytes), columns, { chunkBytes, ragged: "skip" });

describe("nasty CSV, with borders anywhere", () => {
  test("whatever the bytes, nasty CSV is refused or read as d3-dsv reads the whole file", async () => {
    let rowsRead = 0;
    let quoted = 0;
    let skipped = 0;
    await fc.assert(
      fc.asyncProperty(soup, borders, async (body, cut) => {
        const csv = `a,b,c\n${body}`;
        const result = await read(csv, cut).catch((error: unknown) => {
          if (!(error instanceof CalculationError)) throw error;
          return error.code;
        });
        // Only what has no one meaning is refused.
        if (typeof result === "string") {
          expect(["bad-csv", "open-quote"]).toContain(result);
          return;
        }
        const records = csvParseRows(csv)
          .slice(1)
          .filter((record) => !isEmpty(record));
        const fit = records.filter((record) => record.length === columns.length);
        expect(result.rows).toEqual(fit.map(orNull));
        expect(result.reports.reduce((sum, report) => sum + report.skipped, 0)).toBe(
          records.length - fit.length,
        );
        for (const [index, offset] of result.offsets.entries()) {
          expect(csvParseRows(Buffer.from(csv).subarray(offset).toString())[0]).toEqual(fit[index]);
        }
        rowsRead += fit.length;
        skipped += records.length - fit.length;
        if (fit.length > 0 && body.includes('"')) quoted += 1;
      }),
      { numRuns: full ? 50_000 : 1_500 },
    );
    expect(Math.min(rowsRead, quoted, skipped)).toBeGreaterThan(50);
  });

  test("records that fit are read as csv-parse reads them", async () => {
    await fc.assert(
      fc.asyncProperty(fitting, borders, fc.boolean(), fc.boolean(), async (records, cut, mark, lastEnd) => {
        const body = records.map(([cells, end]) => cells.join(",") + end).join("");
        const csv = `${mark ? "\u{FEFF}" : ""}a,b,c\n${lastEnd ? body : body.replace(/\r?\n$/, "")}`;
        const [, ...expected] = parse(csv, {
          bom: true,
          relax_quotes: true,
          record_delimiter: ["\r\n", "\n"],
        }) as string[][];
        expect((await read(csv, cut)).rows).toEqual(expected.map(orNull));
      }),
      { numRuns: full ? 20_000 : 400 },
    );
  });

  test("a byte that is no UTF-8 is refused with its place, wherever it lies", async () => {
    await fc.assert(
      fc.asyncProperty(
        fitting,
        borders,
        fc.nat(),
        fc.constantFrom(0xff, 0xc3, 0x80),
        async (records, cut, at, byte) => {
          const body = records.map(([cells, end]) => cells.join(",") + end).join("");
          const text = [...`a,b,c\n${body}`];
          const before = Buffer.from(text.slice(0, 6 + (at % (text.length - 6))).join(""));
          const after = Buffer.from(text.slice(6 + (at % (text.length - 6))).join(""));
          const bytes = Buffer.concat([before, Buffer.from([byte]), after]);
          await expect(read(bytes, cut)).rejects.toThrow(
            new RegExp(`data/x.csv: byte ${before.length} (is not UTF-8|follows the closing quote)`),
          );
        },
      ),
      { numRuns: full ? 10_000 : 200 },
    );
  });
});

describe("nasty CSV beside DuckDB", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "leasefold-nasty-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const theirs = (path: string) =>
    duckdb(
      `select * from read_csv('${path}', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"',
        strict_mode = false, columns = {a: 'varchar', b: 'varchar', c: 'varchar'})`,
    );

  test("records that fit are read as DuckDB reads them", async () => {
    const samples = fc.sample(fc.tuple(fitting, borders, fc.boolean()), {
      numRuns: full ? 200 : 25,
      seed: 20,
    });
    let rowsRead = 0;
    for (const [index, [records, cut, mark]] of samples.entries()) {
      // DuckDB takes one kind of line end.
      const end = index % 2 === 0 ? "\n" : "\r\n";
      const body = records.map(([cells]) => cells.join(",") + end).join("");
      const csv = `${mark ? "\u{FEFF}" : ""}a,b,c${end}${body}`;
      const path = join(folder, `${index}.csv`);
      writeFileSync(path, csv);
      const { rows } = await read(csv, cut);
      const shown = (value: unknown) =>
        value === null || value === undefined ? null : String(value) || null;
      expect(rows).toEqual((await theirs(path)).map((row) => Object.values(row).map(shown)));
      rowsRead += rows.length;
    }
    expect(rowsRead).toBeGreaterThan(100);
  });
});
