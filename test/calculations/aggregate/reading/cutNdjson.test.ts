import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { Cells } from "../../../../src/calculations/aggregate/cells/cells.ts";
import { ndjsonCutter } from "../../../../src/calculations/aggregate/reading/cutNdjson.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const long = "a name of more than sixteen bytes, and of two times sixteen";
const wanted = ["a", "é", "b c", "__proto__", "ab", long];

const blank = fc.constantFrom("", "", "", " ", "\t", "\r", " \t ");
const key = fc.constantFrom(
  ...['"a"', '"é"', '"b c"', '"__proto__"', '"ab"', '"ac"', '"other"', '"a\\n"', '"\\u0061"', '""', '"x\\""'],
  ...[`"${long}"`, `"${long}!"`, `"${long.slice(0, -1)}?"`, '"sixteen bytes 16"', '"fifteen bytes 1"'],
);
const value = fc.oneof(
  fc.constantFrom("1", "-0", "0.5", "1e5", "-12.25E-3", "01", "1.", ".5", "+1", "1e", "-", "123456789012345"),
  fc.constantFrom(
    "1234567890123456",
    "12345678901234567",
    "-1234567890.1234",
    "0.10000000000000001",
    "1e400",
  ),
  fc.constantFrom("true", "false", "null", "nul", "True", "{}", "[]", '{"a":1}', "", "NaN", "trues"),
  fc.constantFrom(
    ...[
      '""',
      '"x"',
      '"\\""',
      '"\\\\"',
      '"\\u00e9"',
      '"\\u00g0"',
      '"\\x"',
      '"\\ud800"',
      '"tab\there"',
      '"😀"',
    ],
    ...[
      '"open',
      '"fifteen chars 1"',
      '"sixteen chars 16"',
      '"sixteen chars 16\\n"',
      '"{\\"a\\":[1]}"',
      '"\\',
    ],
  ),
  fc.double().map((one) => JSON.stringify(one)),
  fc.string({ unit: "binary", maxLength: 40 }).map((one) => JSON.stringify(one.toWellFormed())),
);
const pair = fc.tuple(blank, key, blank, fc.constantFrom(":", ":", ":", ":", ":", ""), blank, value, blank);
const line = fc
  .tuple(
    fc.constantFrom("{", "{", "{", "{", "{", "[", ""),
    fc.array(
      pair.map((parts) => parts.join("")),
      { maxLength: 4 },
    ),
    fc.constantFrom("}", "}", "}", "}", "}", "", "}x", "} ", ",}"),
  )
  .map(([open, pairs, close]) => `${open}${pairs.join(",")}${close}`)
  .filter((text) => !text.includes("\n"));

type Parsed = Record<string, unknown> | undefined;

function parsed(text: string): Parsed {
  try {
    const one = JSON.parse(text);
    return one !== null && typeof one === "object" && !Array.isArray(one) ? one : undefined;
  } catch {
    return undefined;
  }
}

/** The field of a value that no number without a double is in. A zero has no sign here. */
const fieldOf = (one: unknown): unknown =>
  one !== null && typeof one === "object" ? JSON.stringify(one) : one === 0 ? 0 : one;

/** Numbers that no double holds have tests of their own. */
const isHeld = (text: string): boolean => !/\d{15}|1e400/.test(text);

function cut(lines: readonly string[]) {
  const cells = new Cells(wanted.length);
  const absent = new Set(wanted);
  cells.begin(Buffer.from(lines.join("\n")), 0);
  const misfits = ndjsonCutter(wanted, absent)(cells);
  const rows = Array.from({ length: cells.rows }, (_, row) =>
    wanted.map((_, place) => fieldOf(cells.field(row, place))),
  );
  return { rows, misfits, absent, offsets: rows.map((_, row) => cells.offsetOf(row)) };
}

afterEach(() => vi.restoreAllMocks());

test("lines are read as JSON.parse reads them, and refused where it refuses them, whatever line is before", {
  timeout: full ? 3_600_000 : 60_000,
}, () => {
  let fitting = 0;
  let refused = 0;
  fc.assert(
    fc.property(fc.array(line.filter(isHeld), { minLength: 1, maxLength: 12 }), (lines) => {
      const truths = lines.map((text): { text: string; record: Parsed } => ({ text, record: parsed(text) }));
      const records = truths.map(({ record }) => record).filter((record) => record !== undefined);
      const { rows, misfits, absent, offsets } = cut(lines);
      expect(rows, lines.join("\n")).toEqual(
        records.map((record) =>
          wanted.map((name) => (Object.hasOwn(record, name) ? fieldOf(record[name]) : null)),
        ),
      );
      const isBad = ({ text, record }: { text: string; record: Parsed }): boolean =>
        record === undefined && !/^[ \t\r]*$/.test(text);
      expect(misfits.length, lines.join("\n")).toBe(truths.filter(isBad).length);
      expect([...absent]).toEqual(wanted.filter((name) => !records.some((one) => Object.hasOwn(one, name))));
      const bytes = Buffer.from(`${lines.join("\n")}\n`);
      const lineAt = (at: number): string => bytes.subarray(at, bytes.indexOf(10, at)).toString();
      expect(offsets.map(lineAt)).toEqual(
        truths.filter(({ record }) => record !== undefined).map(({ text }) => text),
      );
      expect(misfits.map(({ at }) => lineAt(at))).toEqual(truths.filter(isBad).map(({ text }) => text));
      fitting += rows.length;
      refused += misfits.length;
    }),
    { numRuns: full ? 100_000 : 4_000 },
  );
  expect(fitting).toBeGreaterThan(refused / 10);
  expect(refused).toBeGreaterThan(fitting / 10);
});

test.each([
  ['{"a":1,"é":"x","b c":null,"other":true}', true],
  ['{"other":"an \\"escape\\" that nobody asks for","a":2}', true],
  ['{"a":"an \\u0065scape"}', true],
  ['{"other":-12345678901234567890.5e-300,"a":-0.5}', true],
  [' { "a" : 1 , "b c" : "" } \r', true],
  ["{}", true],
  ['{"a":1,"a":2}', false],
  ['{"other":[1]}', false],
  ['{"a":1234567890123456}', false],
  ['{"a":1e5}', false],
  ['{"\\u0061":1}', false],
  ['{"a":1}}', false],
])("the kernel reads %s itself: %s", (text, itself) => {
  const parse = vi.spyOn(JSON, "parse");
  cut([text, text]);
  expect(!parse.mock.calls.some(([given]) => given === text)).toBe(itself);
});

test("more lines than the kernel has room for, and names in another order in each, are all read", () => {
  const names = Array.from({ length: 300 }, (_, at) => `name ${at}`);
  const lines = Array.from({ length: 3_000 }, (_, at) => {
    const turned = [...names.slice(at % 300), ...names.slice(0, at % 300)].slice(0, 40);
    return JSON.stringify({
      ...Object.fromEntries(turned.map((name) => [name, at])),
      a: at,
      [long]: String(at),
    });
  });
  const { rows, misfits } = cut(lines);
  expect(misfits).toEqual([]);
  expect(rows.length).toBe(lines.length);
  expect(rows.findIndex((row, at) => row[0] !== at || row[5] !== String(at))).toBe(-1);
  const many = cut(Array.from({ length: 30_000 }, (_, at) => `{"ab":${at}}`));
  expect(many.rows.findIndex((row, at) => row[4] !== at)).toBe(-1);
  expect(many.rows.length).toBe(30_000);
});
