import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aggregateLimits } from "../../../src/calculations/aggregate/limits.ts";
import type { Field } from "../../../src/calculations/aggregate/records.ts";
import type { CoveringPart } from "../../../src/calculations/foldParts.ts";
import { runFinish, runFold } from "../../../src/calculations/runJob.ts";
import { powerFrom } from "../../../src/model/packs.ts";
import { chunkParts, foldOfChunks, foldPart } from "../../support/coveringParts.ts";
import { packOf, type RowsInput, resultOf, rowsCalculation, type Table } from "./rowsCalculation.ts";

const number: fc.Arbitrary<Field> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -100_000, max: 100_000 }).map((cents) => (cents / 100).toFixed(2)),
  fc.constantFrom<Field>(null, "1e300", "-1e300", "1e-300", "bad", "", "-0", 0),
);
const key: fc.Arbitrary<Field> = fc.constantFrom<Field>(
  "a",
  "b",
  "é",
  "\ud800",
  "1",
  1,
  1.5,
  0,
  -0,
  true,
  false,
  null,
  "",
);
const text: fc.Arbitrary<Field> = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((n) => `user ${n}`),
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.constantFrom<Field>(null, 7, 0, -0, true, "\udc00"),
);
const rows = fc.array(fc.tuple(key, key, number, text), { minLength: 1, maxLength: 60 });

const columns = ["k", "l", "x", "t"];
const aggregates =
  "count,count(t),sum(x),mean(x),variance(x),min(x),max(x),mintext(t),maxtext(t),distinct(t),p50(x),p99(x),top(t,2)";

/** Chunks that end at `borders`, with batches that end at others. */
function chunksOf(length: number, borders: readonly number[], batches: readonly number[]): RowsInput[] {
  const cuts = [0, ...borders.map((border) => border % (length + 1)), length].sort((a, b) => a - b);
  return cuts.slice(1).map((to, at) => ({
    from: cuts[at] as number,
    to,
    borders: batches.map((border) => border % (length + 1)).sort((a, b) => a - b),
  }));
}

const chunkAt = (bytes: Uint8Array, from: number): CoveringPart => ({ from, to: from + 1, bytes });

describe("a partial", () => {
  test("a partial has the same bytes for any chunks, batches, packs and tree of folds", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        fc.constantFrom("", "k", "k,l"),
        fc.constantFrom("", "x > 0", "t is not null and not (x <= 1)"),
        async (table, borders, batches, choices, by, where) => {
          const calculation = rowsCalculation(
            { columns, rows: table },
            { by, where, aggregates, badNumbers: "skip" },
          );
          const whole = await packOf(calculation, [{ from: 0, to: table.length }]);
          const chunks = chunksOf(table.length, borders, batches);
          expect(Buffer.compare(await packOf(calculation, chunks), whole)).toBe(0);
          let parts: CoveringPart[] = [];
          for (const chunk of chunks) parts.push(chunkAt(await packOf(calculation, [chunk]), parts.length));
          while (parts.length > 1) {
            const at = (choices.next().value as number) % (parts.length - 1);
            const fold = await foldPart(calculation, {}, parts.slice(at, at + 2) as [CoveringPart]);
            parts = [...parts.slice(0, at), fold, ...parts.slice(at + 2)];
          }
          const all = await runFold(calculation, {}, { from: 0, to: powerFrom(chunks.length), parts });
          expect(Buffer.compare(all, whole)).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("a merge does not change its inputs", async () => {
    const table = {
      columns,
      rows: [
        ["a", 1, 0.1, "t"],
        ["a", 1, 0.2, "u"],
        ["b", 2, 3, "t"],
      ] as Field[][],
    };
    const calculation = rowsCalculation(table, { by: "k", aggregates });
    const parts = await Promise.all([0, 1, 2].map((from) => packOf(calculation, [{ from, to: from + 1 }])));
    const before = parts.map((part) => Buffer.from(part).toString("hex"));
    await runFold(calculation, {}, foldOfChunks(parts));
    await runFold(calculation, {}, foldOfChunks(parts));
    expect(parts.map((part) => Buffer.from(part).toString("hex"))).toEqual(before);
  });

  test("a partial keeps the first skipped records and bad numbers in the order of the files", async () => {
    const table: Table = {
      columns: ["x"],
      rows: Array.from({ length: 40 }, (_, i) => [i % 3 === 0 ? "?" : "1"]),
    };
    const calculation = rowsCalculation(table, { aggregates: "sum(x)", badNumbers: "skip" });
    const inputs = Array.from({ length: 8 }, (_, i) => ({
      from: i * 5,
      to: i * 5 + 5,
      skipped:
        i === 0
          ? []
          : [
              { path: `f${i}`, offset: i, what: "x".repeat(1000) },
              { path: `g${i}`, offset: i, what: "y" },
            ],
    }));
    const part = await packOf(calculation, inputs);
    const { body } = await runFinish(calculation, {
      params: {},
      parts: chunkParts([part]),
      folded: 8,
      count: 8,
    });
    const { report } = JSON.parse(Buffer.from(body).toString());
    expect(report.skipped.count).toBe(14);
    expect(report.skipped.first.map((one: { path: string }) => one.path)).toEqual([
      "f1",
      "g1",
      "f2",
      "g2",
      "f3",
    ]);
    expect(report.skipped.first[0].what).toHaveLength(200);
    expect(report.badNumbers.count).toBe(14);
    expect(report.badNumbers.first.map((one: { offset: number }) => one.offset)).toEqual([
      0, 30, 60, 90, 120,
    ]);
  });
});

describe("limits", () => {
  const { groupsMax } = aggregateLimits;
  const keyed = (keys: number): Table => ({
    columns: ["k", "v"],
    rows: Array.from({ length: keys }, (_, i) => [`key ${i}`, i % 10]),
  });

  test("a chunk with too many groups fails before memory runs out", async () => {
    // Ten million distinct keys, one row at a time: only the first 200,001 are ever held.
    let handed = 0;
    const endless = {
      slice: (from: number, to = 1e7) =>
        Array.from({ length: Math.min(to, 1e7) - from }, (_, i) => {
          handed = from + i + 1;
          return [`key ${from + i}`];
        }),
      length: 1e7,
    };
    const calculation = rowsCalculation(
      { columns: ["k"], rows: endless as never },
      { by: "k", aggregates: "count" },
    );
    const borders = Array.from({ length: 1_000 }, (_, i) => (i + 1) * 10_000);
    const before = process.memoryUsage().heapUsed;
    await expect(packOf(calculation, [{ from: 0, to: 1e7, borders }])).rejects.toMatchObject({
      code: "too-many-groups",
      message:
        "chunk 0: there are more than 200000 groups, the limit (groupsMax); group by fewer or coarser columns, " +
        "or let fewer rows through with --where",
    });
    expect(handed).toBe(groupsMax + 10_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200e6);
  });

  test("a merge with too many groups fails", async () => {
    const calculation = rowsCalculation(keyed(groupsMax + 1), { by: "k", aggregates: "count" });
    const halves = [
      await packOf(calculation, [{ from: 0, to: groupsMax - 10 }]),
      await packOf(calculation, [{ from: groupsMax - 10, to: groupsMax + 1 }]),
    ];
    await expect(runFold(calculation, {}, foldOfChunks(halves))).rejects.toMatchObject({
      code: "too-many-groups",
    });
    const most = rowsCalculation(keyed(groupsMax), { by: "k", aggregates: "count" });
    expect((await packOf(most, [{ from: 0, to: groupsMax }])).length).toBeLessThan(4e6);
  });

  test("a chunk whose states are too large fails and says what to leave out", async () => {
    const table: Table = {
      columns: ["k", "v"],
      rows: Array.from({ length: 90_000 }, (_, i) => [`${i % 30}`, `${"long value ".repeat(60)}${i}`]),
    };
    await expect(resultOf(table, { by: "k", aggregates: "top(v,1)" })).rejects.toMatchObject({
      code: "too-many-groups",
      message: expect.stringMatching(
        /^chunk 0: the first 30 groups need more than 32505856 bytes, .*leave out distinct, quantile or top$/,
      ),
    });
  });

  test("texts that were the last for a while do not count against the size of a partial", async () => {
    const long = "long value ".repeat(150);
    const table: Table = {
      columns: ["v"],
      rows: Array.from({ length: 50_000 }, (_, i) => [`${100_000 + i} ${i % 2 === 0 ? long : ""}`]),
    };
    const { rows } = await resultOf(table, { aggregates: "maxtext(v) as last" });
    expect(rows).toEqual([{ last: "149999 " }]);
  });
});
