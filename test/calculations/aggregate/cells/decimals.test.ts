import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cells, type CutRows } from "../../../../src/calculations/aggregate/cells/cells.ts";
import { decimalAt, numberOf } from "../../../../src/calculations/aggregate/fields.ts";
import { csvCutter } from "../../../../src/calculations/aggregate/reading/cutCsv.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const casesPerSeed = 1_000;
const seeds = full ? 10_000 : 300;

/** In the middle of other digits, which must not count. */
const decimalOf = (text: string): number => {
  const bytes = Buffer.from(`7${text}7`);
  return decimalAt(bytes, 1, bytes.length - 1);
};

/** What a field is by its definition: a finite decimal, without a sign of zero. */
function expected(text: string): number {
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) + 0 : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}

/** Calls `check` with 300,000 texts that `textOf` draws from a source of whole numbers below a limit. */
function everyText(
  textOf: (below: (limit: number) => number) => string,
  check: (text: string) => void,
): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      let state = seed >>> 0;
      const below = (limit: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * limit);
      };
      for (let one = 0; one < casesPerSeed; one++) check(textOf(below));
    }),
    { numRuns: seeds },
  );
}

const digitsOf = (below: (limit: number) => number, count: number): string =>
  Array.from({ length: count }, () => below(10)).join("");

function equals(text: string, value: number, truth: number): void {
  // Not `expect` for each: it takes longer than all the rest.
  if (!Object.is(value, truth)) throw new Error(`${JSON.stringify(text)} is ${value}, not ${truth}`);
}

/** What the kernel reads of texts without a comma and a quote, each a record of its own. */
function kernelNumbers(texts: readonly string[]): number[] {
  const numbers: number[] = [];
  class Noted extends Cells {
    override append(rows: CutRows, count: number): void {
      numbers.push(...rows.numbers.subarray(0, count));
      super.append(rows, count);
    }
  }
  const format = { kind: "csv", gzip: false, delimiter: ",", nulls: [] } as const;
  const cells = new Noted(1);
  cells.begin(Buffer.from(texts.join("\n")), 0);
  csvCutter(format, 1, [0])(cells);
  return numbers;
}

describe("a decimal that the kernel reads", () => {
  test("a decimal of at most 15 digits is the double that Number reads, and any other text is left", () => {
    const characters = ["0123456789", "0123456789.", "01234567890123456789-+..eE x"];
    let numbers = 0;
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        let state = seed >>> 0;
        const below = (limit: number): number => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return Math.floor((state / 2 ** 32) * limit);
        };
        const textOf = (): string => {
          const from = characters[below(3)] as string;
          const digits = Array.from({ length: 1 + below(19) }, () => from[below(from.length)]).join("");
          return `${["", "", "", "-", "+"][below(5)]}${digits}`;
        };
        const texts = Array.from({ length: casesPerSeed }, textOf);
        for (const [at, value] of kernelNumbers(texts).entries()) {
          const text = texts[at] as string;
          const isShort = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(text) && text.replace(/\D/g, "").length <= 15;
          equals(text, value, isShort ? expected(text) : Number.NaN);
          if (isShort) numbers += 1;
        }
      }),
      { numRuns: seeds },
    );
    expect(numbers).toBeGreaterThan(seeds * 300);
  });
});

describe("a decimal that is read from bytes", () => {
  test("a decimal of at most 15 digits and a power of ten within 22 is the double that Number reads, without its help", () => {
    const textOf = (below: (limit: number) => number): string => {
      const digits = digitsOf(below, 1 + below(15));
      const point = below(digits.length + 1);
      const decimals = digits.length - point;
      const sign = ["", "-", "+"][below(3)];
      const mantissa = `${digits.slice(0, point)}${decimals > 0 || below(4) === 0 ? "." : ""}${digits.slice(point)}`;
      // The power that is left after the decimals is from -22 to 22.
      const power = below(45) - 22 + decimals;
      return `${sign}${mantissa}${decimals > 0 && below(2) === 0 ? "" : `${"eE"[below(2)]}${power}`}`;
    };
    everyText(textOf, (text) => equals(text, decimalOf(text), expected(text)));
  });

  test("any other decimal is read as Number reads it, or left to Number", () => {
    let left = 0;
    const textOf = (below: (limit: number) => number): string => {
      const zeros = "0".repeat(below(6));
      const power = below(3) === 0 ? "" : `e${below(700) - 350}`;
      return `${below(2) === 0 ? "-" : ""}${zeros}${digitsOf(below, 1 + below(20))}.${digitsOf(below, below(12))}${power}`;
    };
    everyText(textOf, (text) => {
      const value = decimalOf(text);
      if (Number.isNaN(value)) left += 1;
      else equals(text, value, expected(text));
      equals(text, numberOf(text), expected(text));
    });
    expect(left).toBeGreaterThan(seeds * 100);
  });

  test("a text of the characters of numbers is a number only if it is a decimal", () => {
    let numbers = 0;
    const characters = "0123456789012345..eE+- x_";
    const textOf = (below: (limit: number) => number): string =>
      Array.from({ length: below(8) }, () => characters[below(characters.length)]).join("");
    everyText(textOf, (text) => {
      const truth = expected(text);
      const value = decimalOf(text);
      if (!Number.isNaN(value)) {
        numbers += 1;
        equals(text, value, truth);
      }
      equals(text, numberOf(text), expected(text.trim()));
    });
    expect(numbers).toBeGreaterThan(seeds * 50);
  });

  test.each([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", Number.NaN],
    ["9007199254740993", Number.NaN],
    ["1e22", 1e22],
    ["1e23", Number.NaN],
    ["123e-22", 123e-22],
    ["1e-23", Number.NaN],
    ["0e22", 0],
    ["-0.0", 0],
    ["1e5x", Number.NaN],
    ["1e", Number.NaN],
    ["1e+", Number.NaN],
    [".", Number.NaN],
    ["", Number.NaN],
  ])("%j is %d at the border of what takes one rounding", (text, number) => {
    expect(Object.is(decimalOf(text), number)).toBe(true);
  });
});
