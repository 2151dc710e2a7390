import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aggregate } from "../../../src/calculations/aggregate.ts";
import { runSerially } from "../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../src/calculations/params.ts";
import { isHeld, withHeldNumbers } from "../../../src/model/heldNumbers.ts";
import { cpuSecondsIn } from "../../support/cpuTime.ts";
import { memoryFiles } from "../../support/memoryFiles.ts";

const [even, odd] = ["9007199254740992", "9007199254740993"];

async function rowsOf(path: string, text: string, given: object): Promise<Record<string, unknown>[]> {
  const params = parseParams(aggregate, { source: "data/", ...given });
  const { body } = await runSerially(aggregate, params, memoryFiles(new Map([[path, text]])));
  return JSON.parse(Buffer.from(body).toString()).rows;
}

describe.each([
  ["NDJSON", "data/a.ndjson", `{"id":${odd}}\n{"id":${even}}\n{"id":${odd}}\n{"id":8}\n`],
  ["CSV", "data/a.csv", `id\n${odd}\n${even}\n${odd}\n8\n`],
])("whole numbers above 2^53 in %s", (_format, path, text) => {
  test("are different keys and values", async () => {
    const rows = await rowsOf(path, text, { by: "id", aggregates: "count" });
    expect(rows.map(({ id, count }) => [String(id), count])).toEqual([
      ["8", 1],
      [even, 1],
      [odd, 2],
    ]);
    const [total] = await rowsOf(path, text, { aggregates: "distinct(id) as d,top(id,1) as t" });
    expect(total).toEqual({ d: 3, t: [{ value: odd, count: 2 }] });
  });

  test.each([
    [`id = ${odd}`, 2],
    [`id = ${even}`, 1],
    [`id = '${odd}'`, 2],
    [`id != ${even}`, 3],
    [`id > ${even}`, 2],
    [`id >= ${odd}`, 2],
    [`id < ${odd}`, 2],
    [`id in (8, ${odd})`, 3],
    [`id in (${even})`, 1],
    ["id > 1e3", 3],
  ])("where %s takes %i rows", async (where, count) => {
    expect(await rowsOf(path, text, { where, aggregates: "count" })).toEqual([{ count }]);
  });

  test.each(["sum", "mean", "variance", "stddev", "min", "max", "p50"])(
    "%s refuses them instead of rounding them silently",
    async (name) => {
      await expect(rowsOf(path, text, { aggregates: `${name}(id)` })).rejects.toMatchObject({
        code: "bad-number",
        message: expect.stringMatching(/id is text like "9{16}" .*, a whole number that no double holds; /),
      });
    },
  );

  test("are counted as bad numbers once, and left out, if those are skipped", async () => {
    const given = { aggregates: "sum(id),count", where: "id > 1", badNumbers: "skip" };
    const params = parseParams(aggregate, { source: "data/", ...given });
    const { body } = await runSerially(aggregate, params, memoryFiles(new Map([[path, text]])));
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
      rows: [{ "sum(id)": 2 ** 53 + 8, count: 4 }],
      report: { badNumbers: { count: 2 } },
    });
  });
});

test("a number that no double holds keeps its text within a nested value, but not in a string or a key", async () => {
  const line = (id: string) => `{"a":{"id":[${id},-${id}]},"${odd}":"\\"${odd},"}\n`;
  const rows = await rowsOf("data/a.ndjson", line(odd) + line(even), { by: `a,${odd}` });
  expect(rows).toEqual([
    { a: `{"id":["${odd}","-${odd}"]}`, [odd]: `"${odd},`, count: 1 },
    { a: `{"id":[${even},-${even}]}`, [odd]: `"${odd},`, count: 1 },
  ]);
});

test.each(["01234567890123456789", "1-2345678901234567890", `{${odd}:1}`])(
  "an NDJSON line with %s is no JSON object",
  async (value) => {
    await expect(rowsOf("data/a.ndjson", `{"a":${value}}\n`, {})).rejects.toMatchObject({
      code: "bad-record",
    });
  },
);

test.each<[string, boolean]>([
  ["0.1", true],
  ["0.30000000000000004", true],
  ["0.3000000000000000444", false],
  ["-0.0", true],
  ["1.5e3", true],
  ["1e23", true],
  ["1.000000000000000000e2", true],
  ["12300000000000000000000000e-5", true],
  ["1e400", false],
  ["1e-400", false],
  ["9007199254740992", true],
  ["9007199254740993", false],
  ["9007199254740993.0", false],
  ["-9007199254740993", false],
  ["72057594037927940", true],
  ["100000000000000000000000", false],
  ["1000000000000000000000", true],
])("a double holds %s: %s", (text, held) => {
  expect(isHeld(text)).toBe(held);
});

test("every number that JavaScript writes is held", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), (x, whole) => {
      const json = JSON.stringify([x, whole * 1000]);
      expect(withHeldNumbers(json)).toBe(json);
    }),
  );
});

test.each(["data/a.ndjson", "data/a.csv"])(
  "a whole number that is written back as it was, but is not its double, is a key and no summand in %s",
  async (path) => {
    const id = "72057594037927940";
    const text = path.endsWith(".csv") ? `id\n${id}\n` : `{"id":${id}}\n`;
    expect(
      await rowsOf(path, text, { by: "id", where: `id = ${id} and id > 72057594037927936` }),
    ).toHaveLength(1);
    await expect(rowsOf(path, text, { aggregates: "sum(id)" })).rejects.toMatchObject({ code: "bad-number" });
  },
);

test("texts of whole numbers are equal in NDJSON only if the numbers are", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }),
      fc.bigInt({ min: 0n, max: 40n }),
      (a, more) => {
        const [left, right] = [a, a + more].map((one) => String(JSON.parse(withHeldNumbers(String(one)))));
        expect(left === right).toBe(more === 0n);
      },
    ),
  );
});

test("numbers of many digits take linear time", async () => {
  const zeros = "0".repeat(1024 ** 2);
  const escapes = `["${"\\n".repeat(1024 ** 2)}",${odd}]`;
  const seconds = await cpuSecondsIn(() => {
    expect(isHeld(`1.${zeros}1`)).toBe(false);
    expect(withHeldNumbers(`[1${zeros}]`)).toBe(`["1${zeros}"]`);
    expect(withHeldNumbers(escapes)).toHaveLength(escapes.length + 2);
  });
  // By the square of their digits it would be hours.
  expect(seconds).toBeLessThan(10);
});
