import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { numberOf } from "../../../../src/calculations/aggregate/fields.ts";
import { aggregateLimits } from "../../../../src/calculations/aggregate/limits.ts";
import type { ReadParams } from "../../../../src/calculations/aggregate/reading/readParams.ts";
import { aggregate } from "../../../../src/calculations/aggregate.ts";
import type { Files } from "../../../../src/calculations/files.ts";
import { runSerially } from "../../../../src/calculations/leasefold.ts";
import { cpuSecondsIn } from "../../../support/cpuTime.ts";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { readAll } from "./readAll.ts";

/** CPU time far above what a linear reading takes on a slow machine, far below what one by the square takes. */
const linearSeconds = 10;
const mib = 1024 ** 2;

const filesOf = (files: Readonly<Record<string, Uint8Array | string>>): Files =>
  memoryFiles(new Map(Object.entries(files)));
const read = (files: Files, wanted: readonly string[], given: Partial<ReadParams> = {}) =>
  readAll(files, wanted, given);

/** The same files, a few bytes at a time. */
const inPieces = (files: Files, bytes: number): Files => ({
  ...files,
  async *read(file, range) {
    for await (const piece of files.read(file, range)) {
      for (let at = 0; at < piece.length; at += bytes) yield piece.subarray(at, at + bytes);
    }
  },
});

describe("a file of empty lines before its header", () => {
  test("empty lines before a header are read in linear time, even from 3 KB of gzip", async () => {
    const bomb = gzipSync(`${"\n".repeat(3 * mib)}x\n1\n`);
    expect(bomb.length).toBeLessThan(4_000);
    const returns = filesOf({ "data/a.csv": `${"\r\n".repeat(mib)}x\n1\n` });
    const seconds = await cpuSecondsIn(async () => {
      expect((await read(filesOf({ "data/a.csv.gz": bomb }), ["x"])).rows).toEqual([["1"]]);
      expect((await read(inPieces(returns, 1_000), ["x"])).rows).toEqual([["1"]]);
    });
    expect(seconds).toBeLessThan(linearSeconds);
  });

  test("a header is the same however its bytes are cut, with a byte order mark and line breaks in quotes", async () => {
    const files = filesOf({ "data/a.csv": '\uFEFF\n\r\n"x\n\ny",z\r\n1,2\n' });
    for (const bytes of [1, 2, 3, 5, 100]) {
      expect((await read(inPieces(files, bytes), ["x\n\ny"])).rows, `${bytes}`).toEqual([["1"]]);
    }
  });
});

test("a header in a single line of megabytes is scanned once", async () => {
  const files = filesOf({ "data/a.csv": `${"x".repeat(12 * mib)}\n1\n` });
  const seconds = await cpuSecondsIn(() =>
    expect(read(inPieces(files, 2_000), [])).rejects.toMatchObject({ code: "header-too-long" }),
  );
  expect(seconds).toBeLessThan(linearSeconds);
});

describe("a gzip file", () => {
  test("a gzip file that grows more than any table is refused with the limit", async () => {
    const member = gzipSync(`${"0".repeat(mib - 1)}\n`);
    const zeros = Buffer.concat([
      gzipSync("x\n"),
      ...Array(aggregateLimits.gunzipAlwaysBytes / mib).fill(member),
    ]);
    await expect(read(filesOf({ "data/a.csv.gz": zeros }), ["x"])).rejects.toMatchObject({
      code: "gzip-too-large",
      message: expect.stringMatching(
        /^data\/a\.csv\.gz: its \d+ bytes hold more than \d+ \(gunzipBytesMax, or gunzipRatioMax/,
      ),
    });
  });

  test("a small gzip file may grow by any ratio", async () => {
    const zeros = gzipSync(`x\n${"0\n".repeat(mib)}`);
    expect(mib / zeros.length).toBeGreaterThan(aggregateLimits.gunzipRatioMax);
    const { reports } = await read(filesOf({ "data/a.csv.gz": zeros }), ["x"]);
    expect(reports.map(({ records }) => records)).toEqual([mib]);
  });
});

describe("NDJSON that nests deep", () => {
  const deep = (levels: number) => `{"x":${"[".repeat(levels)}${"]".repeat(levels)},"y":1}\n`;
  const files = filesOf({ "data/a.ndjson": `${deep(20_000)}{"x":2,"y":2}\n` });

  test("a deeply nested value in a wanted column is skipped and counted like any misfit", async () => {
    const { rows, reports } = await read(files, ["x"], { ragged: "skip" });
    expect(rows).toEqual([[2]]);
    expect(reports[0]).toMatchObject({
      skipped: 1,
      offenders: [{ offset: 0, what: "nests x deeper than 500 levels" }],
    });
    await expect(read(files, ["x"])).rejects.toMatchObject({ code: "bad-record" });
  });

  test("deep nesting is harmless in other columns and up to the limit", async () => {
    expect((await read(files, ["y"])).rows).toEqual([[1], [2]]);
    const shallow = filesOf({ "data/a.ndjson": deep(aggregateLimits.nestingMax) });
    expect((await read(shallow, ["x"])).rows).toEqual([["[".repeat(500) + "]".repeat(500)]]);
  });
});

describe("a cell of a megabyte", () => {
  const cell = `Sécret-4711 ${"s3cret ".repeat(150_000)}`;
  const files = filesOf({ "data/a.csv": `x\n${cell}\n` });
  const run = (given: object) =>
    runSerially(
      aggregate,
      { ...aggregate.params.parse({ source: "data/", aggregates: "sum(x)" }), ...given },
      files,
    );

  test("an error shows only the shape of a long cell, in few characters", async () => {
    const error = await run({}).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain('x is text like "aaaaaa-9999 a9aaaa ');
    expect(error?.message.length).toBeLessThan(500);
    expect(`${error?.message}${error?.stack}`).not.toMatch(/cret|4711/);
  });

  test("the report of a result clips a long cell to 80 characters", async () => {
    const { body } = await run({ badNumbers: "skip" });
    const { report } = JSON.parse(Buffer.from(body).toString());
    expect(report.badNumbers.first[0].what).toBe(`x is "${cell.slice(0, 79)}…"`);
  });

  test("a long cell of digits is refused as a number in linear time", async () => {
    const seconds = await cpuSecondsIn(() => {
      expect(numberOf(`${"9".repeat(4 * mib)}x`)).toBeNaN();
      expect(numberOf(`${" ".repeat(4 * mib)}x`)).toBeNaN();
      expect(numberOf(`1e${"9".repeat(4 * mib)}x`)).toBeNaN();
    });
    expect(seconds).toBeLessThan(linearSeconds);
  });
});

test("column names that are really data are clipped", async () => {
  const files = filesOf({ "data/a.csv": `${"name".repeat(100)},y\n1,2\n` });
  const error = await read(files, ["x"]).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error?.message).toBe(
    `data/a.csv has no column "x"; it has "${"name".repeat(100).slice(0, 79)}…", y`,
  );
});
