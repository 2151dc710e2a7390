import { describe, expect, test } from "vitest";
import { numberOf } from "../../../src/calculations/aggregate/fields.ts";
import type { Field } from "../../../src/calculations/aggregate/records.ts";
import { resultOf, resultText, type Table } from "./rowsCalculation.ts";

describe("a field as a number", () => {
  test.each([
    ["0", 0],
    ["-0", 0],
    ["0.00", 0],
    ["12", 12],
    ["-12.50", -12.5],
    ["+7", 7],
    [".5", 0.5],
    ["-.5", -0.5],
    ["5.", 5],
    ["1e3", 1000],
    ["1E-7", 1e-7],
    [" 42 ", 42],
    ["007", 7],
    ["0.1", 0.1],
    ["123456789012345", 123456789012345],
    ["1234567890123456", 1234567890123456],
    ["9007199254740993", 9007199254740992],
    ["9007199254740995", 9007199254740996],
    ["9999999999999999", 10000000000000000],
    ["12345678901234.5", 12345678901234.5],
    ["0.3000000000000000444", 0.30000000000000004],
    ["179769313486231570000e288", 1.7976931348623157e308],
    [5, 5],
    [-0, 0],
  ])("%j is %d", (field, number) => {
    expect(Object.is(numberOf(field), number)).toBe(true);
  });

  test.each<[Field]>([
    [""],
    [" "],
    ["-"],
    ["."],
    ["-."],
    ["1,000"],
    ["1.2.3"],
    ["12a"],
    ["0x10"],
    ["0b1"],
    ["1_000"],
    ["Infinity"],
    ["NaN"],
    ["1e400"],
    ["--1"],
    ["1e"],
    ["٣"],
    [true],
    [Number.POSITIVE_INFINITY],
  ])("%j is none", (field) => {
    expect(numberOf(field)).toBeNaN();
  });

  test("every short decimal is the double that JavaScript reads", () => {
    for (let seed = 1, i = 0; i < 20_000; i++) {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      const digits = String(seed).slice(0, 1 + (i % 10)) + String(seed * 7919).slice(0, i % 6);
      const point = seed % digits.length;
      const text = point === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
      expect(numberOf(text), text).toBe(Number(text));
    }
  });
});

const shops: Table = {
  columns: ["shop", "price", "note", "day"],
  rows: [
    ["a", "10", null, "2024-02-01"],
    ["b", "2.5", "x", "2023-12-31"],
    ["a", null, "y", "2024-01-31"],
    [null, "7", null, null],
    ["a", "0.1", "x", "2024-03-01"],
    ["b", "0.2", "x", null],
  ],
};

describe("folding rows", () => {
  test("empty fields are ignored by all but count, as in SQL", async () => {
    const aggregates =
      "count,count(price),count(note),sum(price),min(price),max(price),mean(price),mintext(day),maxtext(day),distinct(note)";
    const { rows } = await resultOf(shops, { by: "shop", aggregates });
    expect(rows.map((row) => Object.values(row))).toEqual([
      [null, 1, 1, 0, 7, 7, 7, 7, null, null, 0],
      ["a", 3, 2, 2, 10.1, 0.1, 10, 5.05, "2024-01-31", "2024-03-01", 2],
      ["b", 2, 2, 2, 2.7, 0.2, 2.5, 1.35, "2023-12-31", "2023-12-31", 1],
    ]);
  });

  test("without input rows a total has one row and a grouping none", async () => {
    const none = { columns: ["x", "k"], rows: [] };
    const aggregates =
      "count,sum(x),min(x),mean(x),variance(x),stddev(x),mintext(x),distinct(x),p50(x),top(x,3)";
    const total = await resultOf(none, { aggregates });
    expect(total.rows.map((row) => Object.values(row))).toEqual([
      [0, null, null, null, null, null, null, 0, null, []],
    ]);
    expect((await resultOf(none, { by: "k", aggregates })).rows).toEqual([]);
  });

  test("one number has a mean and no variance; two equal ones have the variance 0", async () => {
    const { rows } = await resultOf(
      {
        columns: ["k", "x"],
        rows: [
          ["one", "3"],
          ["two", "0.1"],
          ["two", "0.1"],
        ],
      },
      { by: "k", aggregates: "mean(x),variance(x),stddev(x)" },
    );
    expect(rows.map((row) => Object.values(row))).toEqual([
      ["one", 3, null, null],
      ["two", 0.1, 0, 0],
    ]);
  });

  test.each([
    ["price > 1", 3],
    ["price in (10, 7)", 2],
    ["price not in (10, 7)", 3],
    ["shop = 'a'", 3],
    ["shop != 'a'", 2],
    ["not shop = 'a'", 2],
    ["not (shop = 'a' and price > 1)", 3],
    ["shop = 'a' or price > 5", 4],
    ["note is null", 2],
    ["note is not null and day >= '2024-01-01'", 2],
    ["note in ('x', 'y')", 4],
    ["price = 'a' or price = '10'", 1],
    ["shop is null or shop > 'a'", 3],
  ])("where %s takes %i rows, as SQL does", async (where, count) => {
    const { rows, report } = await resultOf(shops, { aggregates: "count", where });
    expect(rows).toEqual([{ count }]);
    expect(report).toMatchObject({ records: 6, selected: count, groups: 1 });
  });

  test("keys keep their type, and are in the order: nothing, numbers by value, false, true, text", async () => {
    const keys: Field[] = [
      "b",
      true,
      10,
      "9",
      9,
      "10",
      "1e1",
      false,
      null,
      "B",
      "é",
      "😀",
      "\uff21",
      "",
      "a,b",
      -1,
    ];
    const table = { columns: ["k"], rows: keys.map((key) => [key]) };
    const { rows } = await resultOf(table, { by: "k", aggregates: "count" });
    expect(rows.map((row) => row["k"])).toEqual([
      null,
      -1,
      9,
      "9",
      10,
      "10",
      "1e1",
      false,
      true,
      "",
      "B",
      "a,b",
      "b",
      "é",
      "\uff21",
      "😀",
    ]);
  });

  test("texts that differ only in unpaired surrogates are one key", async () => {
    const table = { columns: ["k"], rows: [["\ud800"], ["\udfff"], ["\ufffd"]] };
    const { rows } = await resultOf(table, { by: "k", aggregates: "count,mintext(k),top(k,2)" });
    expect(rows).toEqual([
      { k: "\ufffd", count: 3, "mintext(k)": "\ufffd", "top(k,2)": [{ value: "\ufffd", count: 3 }] },
    ]);
  });

  test("several key columns of which one has many values make each group once", async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) => [
      `u${i % 1_000}`,
      i % 3 === 0 ? null : i % 7,
      `d${i % 2}`,
    ]);
    const result = await resultOf({ columns: ["u", "w", "d"], rows }, { by: "u,w,d", aggregates: "count" });
    const counts = new Map<string, number>();
    for (const row of rows) counts.set(JSON.stringify(row), (counts.get(JSON.stringify(row)) ?? 0) + 1);
    expect(result.rows).toHaveLength(counts.size);
    for (const { u, w, d, count } of result.rows) expect(count).toBe(counts.get(JSON.stringify([u, w, d])));
  });

  test("top counts exactly, and takes the first in order of equally frequent ones", async () => {
    const values = [..."mississippi", null, null, null, null, null];
    const { rows } = await resultOf(
      { columns: ["c"], rows: values.map((c) => [c]) },
      { aggregates: "top(c,3)" },
    );
    expect(rows[0]?.["top(c,3)"]).toEqual([
      { value: "i", count: 4 },
      { value: "s", count: 4 },
      { value: "p", count: 2 },
    ]);
  });
});

describe("what a user did wrong", () => {
  const mixed: Table = {
    columns: ["k", "x", "y"],
    rows: [
      ["a", "1", "oops"],
      ["a", "zwei", "2"],
      ["a", null, "3"],
      ["a", "3", "4,5"],
      ["a", "0x1", "5"],
    ],
  };

  test("a run fails for the first bad number of a file, with its byte and a suggested fix", async () => {
    await expect(resultOf(mixed, { aggregates: "sum(x),sum(y)" })).rejects.toMatchObject({
      code: "bad-number",
      message: expect.stringMatching(
        /^chunk 0: box\/table, record at byte 0: y is text like "aaaa" \(a: a letter, 9: a digit\), which is no number; --bad-numbers skip/,
      ),
    });
    await expect(resultOf(mixed, { aggregates: "count", where: "x < 2" })).rejects.toThrow(
      'byte 10: x is text like "aaaa"',
    );
  });

  test("skipped bad numbers are counted once each, and the first are shown", async () => {
    const { rows, report } = await resultOf(mixed, {
      aggregates: "count,sum(x),mean(x),count(x),sum(y)",
      badNumbers: "skip",
    });
    expect(rows[0]).toEqual({ count: 5, "sum(x)": 4, "mean(x)": 2, "count(x)": 4, "sum(y)": 10 });
    expect(report["badNumbers"]).toEqual({
      count: 4,
      first: [
        { path: "box/table", offset: 0, what: 'y is "oops"' },
        { path: "box/table", offset: 10, what: 'x is "zwei"' },
        { path: "box/table", offset: 30, what: 'y is "4,5"' },
        { path: "box/table", offset: 40, what: 'x is "0x1"' },
      ],
    });
  });

  test("a comparison that is not evaluated reports no bad number", async () => {
    const { rows } = await resultOf(mixed, { aggregates: "count", where: "k = 'a' or x > 1" });
    expect(rows).toEqual([{ count: 5 }]);
  });

  test("a sum beyond the range of doubles is an error", async () => {
    const table = { columns: ["x"], rows: [["1e308"], ["1e308"]] };
    await expect(resultOf(table, { aggregates: "sum(x)" })).rejects.toMatchObject({
      code: "number-overflow",
    });
    expect((await resultOf(table, { aggregates: "mean(x)" })).rows).toEqual([{ "mean(x)": 1e308 }]);
  });

  test("top refuses more different values than it counts", async () => {
    const table = { columns: ["x"], rows: Array.from({ length: 10_001 }, (_, i) => [`v${i}`]) };
    await expect(resultOf(table, { aggregates: "top(x,1)" })).rejects.toMatchObject({
      code: "too-many-values",
      message: expect.stringContaining("a group has more than 10000 different values (topValuesMax)"),
    });
  });
});

describe("the result", () => {
  const table: Table = {
    columns: ["k", "2019", "x"],
    rows: [
      ['say "a,b"', 1, "0.1"],
      ["=1+2", 2, "0.2"],
      ["line\nbreak", null, null],
      ["", 3, "1e21"],
    ],
  };
  const query = { by: "k", aggregates: 'sum(2019) as "2019", sum(x), top(k,1) as t' };

  test("a CSV result is quoted where necessary and otherwise holds the texts of the files", async () => {
    expect(await resultText(table, { ...query, output: "csv" })).toBe(
      [
        "k,2019,sum(x),t",
        '"",3,1e+21,"[{""value"":"""",""count"":1}]"',
        '=1+2,2,0.2,"[{""value"":""=1+2"",""count"":1}]"',
        '"line\nbreak",,,"[{""value"":""line\\nbreak"",""count"":1}]"',
        '"say ""a,b""",1,0.1,"[{""value"":""say \\""a,b\\"""",""count"":1}]"',
        "",
      ].join("\n"),
    );
  });

  test("an NDJSON result has one group per line, with its columns in the requested order", async () => {
    const lines = (await resultText(table, { ...query, output: "ndjson" })).split("\n");
    expect(lines).toHaveLength(5);
    expect(lines[1]).toBe('{"k":"=1+2","2019":2,"sum(x)":0.2,"t":[{"value":"=1+2","count":1}]}');
  });

  test("a JSON result has the groups and a report", async () => {
    expect(JSON.parse(await resultText(table, query))).toMatchObject({
      rows: [{ k: "" }, { k: "=1+2" }, { k: "line\nbreak", "2019": null }, { k: 'say "a,b"' }],
      report: { records: 4, bytes: 40, selected: 4, groups: 4, skipped: { count: 0, first: [] } },
    });
  });
});
