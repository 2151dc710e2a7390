import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { readAll } from "./readAll.ts";

/** Data of vega-datasets, which people have published for years; csv-parse says what is in it. */
const folder = join(import.meta.dirname, "../../../../node_modules/vega-datasets/data");
const tables = readdirSync(folder).filter((name) => /\.[ct]sv$/.test(name));

describe("vega-datasets", () => {
  test("vega-datasets has the tables of this test", () => {
    expect(tables).toEqual(
      expect.arrayContaining(["birdstrikes.csv", "flights-airport.csv", "unemployment.tsv"]),
    );
  });

  test.each(tables)("%s is read as csv-parse reads it", async (name) => {
    const bytes = readFileSync(join(folder, name));
    const delimiter = name.endsWith(".tsv") ? "\t" : ",";
    const [columns = [], ...expected] = parse(bytes, { bom: true, delimiter, skip_empty_lines: true });
    const files = memoryFiles(new Map([[`data/${name}`, bytes]]), 10_007);
    const { rows, ranges } = await readAll(files, columns, { chunkBytes: 100_000 });
    expect(ranges.length).toBeGreaterThanOrEqual(Math.ceil(bytes.length / 110_000));
    expect(rows.length).toBe(expected.length);
    const isOther = (row: readonly unknown[], index: number): boolean =>
      !isDeepStrictEqual(
        row,
        expected[index]?.map((value) => value || null),
      );
    expect(rows.findIndex(isOther)).toBe(-1);
  });

  test("birdstrikes has 10,000 records, with or without gzip and the pass", async () => {
    const bytes = readFileSync(join(folder, "birdstrikes.csv"));
    const wanted = ["Cost Total $", "Airport Name"];
    const plain = await readAll(memoryFiles(new Map([["data/b.csv", bytes]])), wanted);
    const zipped = await readAll(memoryFiles(new Map([["data/b.csv.gz", gzipSync(bytes)]])), wanted);
    const promised = await readAll(memoryFiles(new Map([["data/b.csv", bytes]])), wanted, {
      chunkBytes: 50_000,
      quotedNewlines: false,
    });
    expect(plain.rows.length).toBe(10_000);
    expect(isDeepStrictEqual(zipped.rows, plain.rows)).toBe(true);
    expect(isDeepStrictEqual(promised.rows, plain.rows)).toBe(true);
  });

  test("flights-2k as NDJSON is read as JSON.parse reads it", async () => {
    const flights: Record<string, unknown>[] = JSON.parse(
      readFileSync(join(folder, "flights-2k.json"), "utf8"),
    );
    const lines = flights.map((one) => `${JSON.stringify(one)}\n`).join("");
    const files = memoryFiles(new Map([["data/f.ndjson", lines]]), 1_009);
    const { rows } = await readAll(files, ["origin", "delay"], { chunkBytes: 20_000 });
    expect(flights.length).toBe(2_000);
    expect(rows).toEqual(flights.map(({ origin, delay }) => [origin, delay]));
  });
});
