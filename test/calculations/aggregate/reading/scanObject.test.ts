import fc from "fast-check";
import { expect, test } from "vitest";
import { Cells } from "../../../../src/calculations/aggregate/cells/cells.ts";
import { ObjectScanner, unusual } from "../../../../src/calculations/aggregate/reading/scanObject.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const wanted = ["a", "é", "b c", "__proto__"];

const blank = fc.constantFrom("", "", "", " ", "\t", "\r", " \t ");
const key = fc.constantFrom(
  '"a"',
  '"é"',
  '"b c"',
  '"__proto__"',
  '"other"',
  '"a\\n"',
  '"\\u0061"',
  '""',
  '"x\\""',
);
const value = fc.oneof(
  fc.constantFrom("1", "-0", "0.5", "1e5", "-12.25E-3", "01", "1.", ".5", "+1", "1e", "-", "123456789012345"),
  fc.constantFrom("true", "false", "null", "nul", "True", "{}", "[]", '{"a":1}', "", "NaN"),
  fc.constantFrom(
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
    '"open',
  ),
  fc.double().map((one) => JSON.stringify(one)),
  fc.string({ unit: "binary", maxLength: 6 }).map((one) => JSON.stringify(one.toWellFormed())),
);
const pair = fc.tuple(blank, key, blank, fc.constantFrom(":", ":", ":", ":", ":", ""), blank, value, blank);
const line = fc
  .tuple(
    fc.constantFrom("{", "{", "{", "{", "{", "[", ""),
    fc.array(
      pair.map((parts) => parts.join("")),
      { maxLength: 4 },
    ),
    fc.constantFrom("}", "}", "}", "}", "}", "", "}x", "} "),
  )
  .map(([open, pairs, close]) => `${open}${pairs.join(",")}${close}`)
  .filter((text) => !text.includes("\n"));

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const one = JSON.parse(text);
    return one !== null && typeof one === "object" && !Array.isArray(one) ? one : undefined;
  } catch {
    return undefined;
  }
}

test("a line that the scanner accepts is one that JSON.parse accepts, with the same columns", () => {
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 12 }), (lines) => {
      const cells = new Cells(wanted.length);
      cells.begin(Buffer.from(lines.join("\n")), 0);
      const scanner = new ObjectScanner(wanted);
      scanner.begin(cells.bytes);
      let at = 0;
      for (const text of lines) {
        const next = at + Buffer.byteLength(text) + 1;
        const end = scanner.scan(cells, cells.open(at), at);
        const truth = parsed(text);
        if (end === unusual) {
          refused += 1;
        } else {
          accepted += 1;
          expect(truth, text).toBeDefined();
          expect(end, text).toBe(next);
          const fields = wanted.map((_, column) => cells.field(cells.rows, column));
          const values = wanted.map((name) =>
            truth !== undefined && Object.hasOwn(truth, name) ? truth[name] : null,
          );
          // A zero has no sign here.
          expect(fields, text).toEqual(values.map((one) => (one === 0 ? 0 : one)));
          const absent = new Set(wanted);
          scanner.removeFrom(absent);
          expect([...absent], text).toEqual(wanted.filter((name) => !Object.hasOwn(truth ?? {}, name)));
        }
        at = next;
      }
    }),
    { numRuns: full ? 100_000 : 4_000 },
  );
  expect(accepted).toBeGreaterThan(refused / 10);
  expect(refused).toBeGreaterThan(accepted / 10);
});

test.each([
  ['{"a":1,"é":"x","b c":null,"other":true}', true],
  ['{"other":"an \\"escape\\" that nobody asks for","a":2}', true],
  ['{"a":"an \\u0065scape"}', true],
  [' { "a" : 1 , "b c" : "" } \r', true],
  ["{}", true],
  ['{"a":1,"a":2}', false],
  ['{"other":[1]}', false],
  ['{"a":1234567890123456}', false],
  ['{"a":1e5}', false],
  ['{"\\u0061":1}', false],
  ['{"a":1}}', false],
])("the scanner reads %s itself: %s", (text, itself) => {
  const cells = new Cells(wanted.length);
  cells.begin(Buffer.from(text), 0);
  const scanner = new ObjectScanner(wanted);
  scanner.begin(cells.bytes);
  expect(scanner.scan(cells, cells.open(0), 0) !== unusual).toBe(itself);
});
