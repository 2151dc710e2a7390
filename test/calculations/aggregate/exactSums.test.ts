import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cells } from "../../../src/calculations/aggregate/cells/cells.ts";
import { ExactSums, mergeTerms } from "../../../src/calculations/aggregate/measures/exactTerms.ts";
import type { Columns } from "../../../src/calculations/aggregate/measures/measure.ts";
import {
  deviationOf,
  meanOf,
  type Squares,
  squaresMeasure,
  sumOf,
  varianceOf,
} from "../../../src/calculations/aggregate/measures/sums.ts";
import { nearestRatio, nearestRoot } from "../../../src/calculations/exact/dyadic.ts";
import { bigOf, nearest, nearestRootBySquares } from "./rationals.ts";

const finite = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => cents / 100),
  fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 480, 2 ** -480, 2 ** -537, 0),
);

const termsOf = (values: readonly number[]) => {
  const sums = new ExactSums(() => {});
  sums.reserve(1);
  for (const value of values) sums.add(0, value);
  return sums.terms(0);
};

function squaresOf(values: readonly number[]): Squares {
  const columns: Columns = {
    indexOf: () => 0,
    numbers: () => ({ of: () => Float64Array.from(values), exact: (row) => values[row] as number }),
  };
  const squares = squaresMeasure("x").start(columns, () => {});
  const index = Int32Array.from(values.keys());
  squares.add({ cells: new Cells(1), count: values.length, index, group: new Int32Array(values.length) }, 1);
  return squares.state(0);
}

describe("exact sums", () => {
  test("sum, mean, variance and standard deviation are the exact ones, correctly rounded", () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 30 }), (values) => {
        const count = values.length;
        const exact = values.reduce((sum, value) => sum + bigOf(value), 0n);
        const sum = { count, terms: termsOf(values) };
        expect(sumOf(sum)).toBe(nearest(exact, 1n, -1074));
        expect(meanOf(sum)).toBe(nearest(exact, BigInt(count), -1074));
        if (count < 2) return;
        const n = BigInt(count);
        const squares = values.reduce((total, value) => total + bigOf(value) ** 2n, 0n);
        const apart = n * squares - exact * exact;
        expect(varianceOf(sum, squaresOf(values))).toBe(nearest(apart, n * (n - 1n), -2148));
        expect(deviationOf(sum, squaresOf(values))).toBe(nearestRootBySquares(apart, n * (n - 1n), -2148));
      }),
      { numRuns: 400 },
    );
  });

  test("exact sums have the same terms in every order and grouping", () => {
    fc.assert(
      fc.property(fc.array(finite, { maxLength: 20 }), fc.nat(20), fc.nat(20), (values, first, second) => {
        const [low, high] = [Math.min(first, second), Math.max(first, second)];
        const [a, b, c] = [values.slice(0, low), values.slice(low, high), values.slice(high)].map(termsOf);
        if (a === undefined || b === undefined || c === undefined) return;
        const whole = termsOf(values);
        expect(mergeTerms(mergeTerms(a, b), c)).toEqual(whole);
        expect(mergeTerms(a, mergeTerms(b, c))).toEqual(whole);
        expect(termsOf(values.toReversed())).toEqual(whole);
      }),
      { numRuns: 400 },
    );
  });

  test("exact sums stay exact where plain additions lose everything", () => {
    expect(sumOf({ count: 4, terms: termsOf([1e100, 1, -1e100, 1e-300]) })).toBe(1);
    expect(termsOf([1e100, 1, -1e100, 1e-300])).toEqual([1, 1e-300]);
    expect(sumOf({ count: 3, terms: termsOf([Number.MAX_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE]) })).toBe(
      Number.MAX_VALUE,
    );
    expect(sumOf({ count: 2, terms: termsOf([Number.MAX_VALUE, Number.MAX_VALUE]) })).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  test.each([
    ["far too small", [1e-200, 3e-200], Math.SQRT2 * 1e-200],
    ["far too large", [1e200, 3e200], Math.SQRT2 * 1e200],
  ])("a standard deviation is right where its square is %s for a double", (_, values, about) => {
    const found = deviationOf({ count: 2, terms: termsOf(values) }, squaresOf(values)) ?? 0;
    expect(found / about).toBeCloseTo(1, 14);
  });

  test("a root is rounded once", () => {
    expect(nearestRoot(2n, 1n, 0)).toBe(Math.SQRT2);
    expect(nearestRoot(9n, 4n, 0)).toBe(1.5);
    expect(nearestRoot(2n, 1n, 1)).toBe(2);
    expect(nearestRoot(2n, 1n, -1)).toBe(1);
    expect(nearestRoot(0n, 1n, 0)).toBe(0);
    // Exactly between two doubles, and a little beside.
    expect(nearestRoot((2n ** 53n + 1n) ** 2n, 1n, 0)).toBe(2 ** 53);
    expect(nearestRoot((2n ** 53n + 1n) ** 2n + 1n, 1n, 0)).toBe(2 ** 53 + 2);
    expect(nearestRoot((2n ** 53n + 3n) ** 2n - 1n, 1n, 0)).toBe(2 ** 53 + 2);
  });

  test("a ratio is rounded once", () => {
    expect(nearestRatio(1n, 3n, 0)).toBe(1 / 3);
    expect(nearestRatio(-2n, 7n, 10)).toBe((-2 / 7) * 1024);
    expect(nearestRatio(-(2n ** 53n + 1n), 1n, 0)).toBe(-(2 ** 53));
    expect(nearestRatio(-3n * 2n ** 52n - 1n, 3n, 0)).toBe(-(2 ** 52));
    expect(nearestRatio(3n, 2n, -1074)).toBe(2 * Number.MIN_VALUE);
    expect(nearestRatio(5n, 2n, -1074)).toBe(2 * Number.MIN_VALUE);
    expect(nearestRatio(2n ** 60n + 1n, 2n ** 61n, -1074)).toBe(Number.MIN_VALUE);
    expect(nearestRatio(1n, 2n, -1074)).toBe(0);
    expect(nearestRatio(2n ** 53n + 1n, 1n, 0)).toBe(2 ** 53);
    expect(nearestRatio(2n ** 54n + 3n, 2n, 0)).toBe(2 ** 53 + 2);
  });
});
