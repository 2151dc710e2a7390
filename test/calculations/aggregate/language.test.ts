import { describe, expect, test } from "vitest";
import { parseAggregates, parseColumns } from "../../../src/calculations/aggregate/language/aggregates.ts";
import { parseFilter } from "../../../src/calculations/aggregate/language/filter.ts";
import { queryOf } from "../../../src/calculations/aggregate/query.ts";
import { cpuSecondsIn } from "../../support/cpuTime.ts";

describe("key columns", () => {
  test.each([
    ["", []],
    ["  ", []],
    ["year", ["year"]],
    [" year , Airport Name ", ["year", "Airport Name"]],
    ['"a,b", "say ""hi""",c', ["a,b", 'say "hi"', "c"]],
  ])("%j", (text, columns) => {
    expect(parseColumns(text)).toEqual(columns);
  });

  test.each([
    ["a,,b", 'position 3: expected a column, found ",b"'],
    ["a,", "position 3: expected a column, found the end"],
    ['"a', 'position 1: expected a closing ", found "\\"a"'],
    ['""', "position 1: expected a column"],
    ['"a" b', 'position 5: expected a comma, found "b"'],
    ['a"b', "position 1: expected quotes around the whole name or none"],
    ["a,b,a", "position 5: a is listed twice"],
  ])("%j is refused", (text, message) => {
    expect(() => parseColumns(text)).toThrow(message);
  });
});

describe("aggregates", () => {
  test("each function is known, with what it needs, and named as it was written without blanks", () => {
    const text =
      "count, count(*) as n, count(note), sum( price ), min(price), max(price), mean(price), variance(price), " +
      'stddev(price), mintext(day), maxtext(day), distinct("user, id"), quantile(price, 0.50), p50(price), ' +
      'P99.9(price), top(Ship Mode,5) as "three, modes", sum(Cost: Total $)';
    expect(parseAggregates(text).map(({ name, column }) => [name, column])).toEqual([
      ["count", ""],
      ["n", ""],
      ["count(note)", "note"],
      ["sum(price)", "price"],
      ["min(price)", "price"],
      ["max(price)", "price"],
      ["mean(price)", "price"],
      ["variance(price)", "price"],
      ["stddev(price)", "price"],
      ["mintext(day)", "day"],
      ["maxtext(day)", "day"],
      ["distinct(user, id)", "user, id"],
      ["quantile(price,0.50)", "price"],
      ["p50(price)", "price"],
      ["p99.9(price)", "price"],
      ["three, modes", "Ship Mode"],
      ["sum(Cost: Total $)", "Cost: Total $"],
    ]);
  });

  const known =
    "one of count sum min max mintext maxtext mean variance stddev distinct quantile top or p1 to p99";
  test.each([
    ["", `position 1: expected ${known}, found the end`],
    ["count,", `position 7: expected ${known}, found the end`],
    ["count, avg(x)", `position 8: expected ${known}, found "avg(x)"`],
    ["toString(x)", `position 1: expected ${known}`],
    ["constructor(x)", `position 1: expected ${known}`],
    ["p100(x)", `position 1: expected ${known}`],
    ["sum", "position 4: expected (column), found the end"],
    ["sum()", 'position 5: expected a column, found ")"'],
    ["sum(a", "position 6: expected a closing parenthesis, found the end"],
    ["sum(a,b)", 'position 6: expected a closing parenthesis, found ",b)"'],
    ["sum(a) min(b)", 'position 8: expected a comma or as, found "min(b)"'],
    ["quantile(a)", 'position 11: expected a comma and a share from 0 to 1, found ")"'],
    ["quantile(a,1.5)", 'position 12: expected a share from 0 to 1, found "1.5)"'],
    ["quantile(a,-1)", "position 12: expected a share from 0 to 1"],
    ["top(a,0)", "position 7: expected a whole number from 1 to 1000"],
    ["top(a,2.5)", "position 7: expected a whole number from 1 to 1000"],
    ["sum(a),sum(a)", "position 8: two aggregates are named sum(a); rename one: sum(a) as other"],
    ["sum(a) as", "position 10: expected a column, found the end"],
  ])("%j is refused", (text, message) => {
    expect(() => parseAggregates(text)).toThrow(message);
  });

  test("an aggregate may not have the name of a key column", () => {
    expect(() => queryOf({ by: "total", aggregates: "sum(x) as total", where: "" })).toThrow(
      "total is the name of a key column",
    );
  });

  test("aggregates share what they have in common, and each column is read once", () => {
    const { measures, wanted } = queryOf({
      by: "a",
      aggregates: "count,sum(b),mean(b),variance(b),stddev(b),p10(b),p90(b)",
      where: "b > 1 and a is not null",
    });
    expect(measures).toHaveLength(4);
    expect(wanted).toEqual(["a", "b"]);
  });
});

describe("a filter", () => {
  const is = (column: string, operator: string, literal: string | number) => ({
    kind: "compare",
    column,
    operator,
    literal,
  });

  test.each<[string, unknown]>([
    ["a = 1", is("a", "=", 1)],
    ["a==1", is("a", "=", 1)],
    ["a <> -1.5e3", is("a", "!=", -1500)],
    ["a<='it''s'", is("a", "<=", "it's")],
    ["prix_é.2 >= .5", is("prix_é.2", ">=", 0.5)],
    ['"a ""b"" c" != \'\'', is('a "b" c', "!=", "")],
    ["a = TRUE", is("a", "=", "true")],
    ["a is null", { kind: "empty", column: "a" }],
    ["a IS NOT NULL", { kind: "not", part: { kind: "empty", column: "a" } }],
    ["a in (1, 2,3)", { kind: "in", column: "a", literals: [1, 2, 3] }],
    ["a not in ('x')", { kind: "not", part: { kind: "in", column: "a", literals: ["x"] } }],
    [
      "a=1 or b=2 and not c=3",
      {
        kind: "or",
        parts: [
          is("a", "=", 1),
          { kind: "and", parts: [is("b", "=", 2), { kind: "not", part: is("c", "=", 3) }] },
        ],
      },
    ],
    [
      "(a=1 or b=2) and not not (c=3)",
      {
        kind: "and",
        parts: [
          { kind: "or", parts: [is("a", "=", 1), is("b", "=", 2)] },
          { kind: "not", part: { kind: "not", part: is("c", "=", 3) } },
        ],
      },
    ],
    ["notes = 1 and order > 2", { kind: "and", parts: [is("notes", "=", 1), is("order", ">", 2)] }],
  ])("%s", (text, condition) => {
    expect(parseFilter(text)).toEqual(condition);
  });

  test.each([
    ["", "position 1: expected a column, not, or a parenthesis, found the end"],
    ["a", "position 2: expected = != < <= > >=, in, or is null, found the end"],
    ["a =", "position 4: expected a number, a 'text' in single quotes, true or false, found the end"],
    ['a = "x"', 'position 5: expected a number, a \'text\' in single quotes, true or false, found "\\"x\\""'],
    ["a = x", "position 5: expected a number, a 'text' in single quotes"],
    ["a = 12abc", "position 5: expected a number, a 'text' in single quotes"],
    ["a = 1e999", "position 5: expected a number, a 'text' in single quotes"],
    ["a = 'x", "position 5: expected a closing ', found \"'x\""],
    ["a = 1 b = 2", 'position 7: expected and, or, or the end, found "b = 2"'],
    ["a = 1)", 'position 6: expected and, or, or the end, found ")"'],
    ["(a = 1", "position 7: expected and, or, or a closing parenthesis, found the end"],
    ["a is 1", 'position 6: expected null or not null, found "1"'],
    ["a is not 1", 'position 10: expected null, found "1"'],
    ["a not = 1", 'position 7: expected in, found "= 1"'],
    ["a in 1", 'position 6: expected a parenthesis, found "1"'],
    ["a in (1", "position 8: expected a comma or a closing parenthesis, found the end"],
    ["a in ()", "position 7: expected a number, a 'text'"],
    ["a in (1, 'x')", "position 10: expected numbers only or texts only, found \"'x')\""],
    ["and = 1", 'position 1: expected a column ("and" if it is one)'],
    ["1 = a", 'position 1: expected a column (in "double quotes" unless it is a plain word), found "1 = a"'],
    ["a => 1", "position 4: expected a number, a 'text' in single quotes, true or false, found \"> 1\""],
    ["a = 1 and", "position 10: expected a column, not, or a parenthesis, found the end"],
    [`${"(".repeat(200)}a=1`, "position 102: expected at most 100 levels of parentheses and nots"],
    [`${"not ".repeat(200)}a=1`, "expected at most 100 levels of parentheses and nots"],
  ])("%j is refused", (text, message) => {
    expect(() => parseFilter(text)).toThrow(message);
  });
});

test("a literal of many digits and a letter is refused in linear time", async () => {
  const seconds = await cpuSecondsIn(() => {
    expect(() => parseFilter(`x > ${"9".repeat(80_000)}x`)).toThrow("position 5: expected a number");
    expect(() => parseFilter(`x > 1.${"9".repeat(80_000)}x`)).toThrow("position 5: expected a number");
  });
  expect(seconds).toBeLessThan(3);
});
