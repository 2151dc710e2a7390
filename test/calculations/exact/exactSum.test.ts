import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ExactSum, exactSum } from "../../../src/calculations/exact/exactSum.ts";

/** The sum in units of 2^-1074, from the digits that JavaScript prints for whole numbers. */
function unitsOf(values: readonly number[]): bigint {
  return values.reduce((sum, x) => {
    let shift = 0n;
    let whole = x;
    // Doubling is exact, and ends at a whole number after 1,074 times at the latest.
    for (; !Number.isInteger(whole); shift++) whole *= 2;
    return sum + (BigInt(whole) << (1074n - shift));
  }, 0n);
}

/** The nearest double by trying: no other double, nor an even one at the same distance, is nearer. */
function isNearest(x: number, units: bigint): boolean {
  const distance = (y: number): bigint => {
    const apart = unitsOf([y]) - units;
    return apart < 0n ? -apart : apart;
  };
  const bits = new BigInt64Array(1);
  const double = new Float64Array(bits.buffer);
  double[0] = x;
  const mantissa = bits[0] as bigint;
  const own = distance(x);
  return [-1n, 1n].every((step) => {
    bits[0] = x === 0 ? 1n | (step < 0n ? -(2n ** 63n) : 0n) : mantissa + step;
    const other = double[0] as number;
    if (!Number.isFinite(other)) return true;
    const its = distance(other);
    return own < its || (own === its && (mantissa & 1n) === 0n);
  });
}

const sumOf = (values: readonly number[]): ExactSum => {
  const sum = exactSum();
  for (const x of values) sum.add(x);
  return sum;
};
const unitsEncoded = (sum: ExactSum): bigint => {
  const [, sign, digits, exponent] = /^(-?)([0-9a-f]+)p(-?\d+)$/.exec(sum.encode()) ?? [];
  return (sign === "-" ? -1n : 1n) * (BigInt(`0x${digits}`) << BigInt(1074 + Number(exponent)));
};

const finite = fc.double({ noDefaultInfinity: true, noNaN: true });
const close = fc.double({ min: -1e6, max: 1e6, noNaN: true });
const values = fc.oneof(
  fc.array(finite, { maxLength: 40 }),
  fc.array(close, { maxLength: 40 }),
  fc.array(fc.oneof(finite, close, fc.constantFrom(1e308, -1e308, 5e-324, 2 ** 53, 1)), { maxLength: 40 }),
);

describe("an exact sum", () => {
  test("an exact sum equals the sum of the exact values, and its value is the nearest double", () => {
    fc.assert(
      fc.property(values, (terms) => {
        const units = unitsOf(terms);
        const sum = sumOf(terms);
        expect(unitsEncoded(sum)).toBe(units);
        const value = sum.value();
        if (Number.isFinite(value)) expect(isNearest(value, units)).toBe(true);
        else expect(units < 0n ? -units : units).toBeGreaterThanOrEqual((2n ** 1024n - 2n ** 970n) << 1074n);
      }),
      { numRuns: 1_000 },
    );
  });

  test("an exact sum has the same bits for any order and grouping", () => {
    fc.assert(
      fc.property(values, fc.array(fc.nat()), fc.infiniteStream(fc.nat()), (terms, cuts, ranks) => {
        const whole = sumOf(terms).encode();
        const rank = terms.map(() => ranks.next().value as number);
        const shuffled = terms.map((x, i) => [rank[i] as number, x] as const).sort((a, b) => a[0] - b[0]);
        expect(sumOf(shuffled.map(([, x]) => x)).encode()).toBe(whole);
        const borders = [0, ...cuts.map((cut) => cut % (terms.length + 1)), terms.length].sort(
          (a, b) => a - b,
        );
        const parts = borders.slice(1).map((to, i) => terms.slice(borders[i], to));
        const folded = parts.map((part, i) => (i % 2 ? sumOf(part) : exactSum(sumOf(part).encode())));
        const total = exactSum();
        for (const part of folded) total.merge(part);
        expect(total.encode()).toBe(whole);
        expect(total.value()).toBe(sumOf(terms).value());
      }),
      { numRuns: 500 },
    );
  });

  test("an exact sum of many terms carries before a limb is full", () => {
    const terms = Float64Array.from({ length: 300_000 }, (_, i) =>
      i % 3 ? 1 - 2 ** -53 : 65_535.999999999993,
    );
    const each = exactSum();
    for (const x of terms) each.add(x);
    expect(unitsEncoded(each)).toBe(
      200_000n * unitsOf([1 - 2 ** -53]) + 100_000n * unitsOf([65_535.999999999993]),
    );
  });

  test("an exact sum of many of the largest doubles is finite again when they are subtracted", () => {
    const sum = exactSum();
    for (let i = 0; i < 70_000; i++) sum.add(Number.MAX_VALUE);
    sum.add(2 ** 992);
    expect(sum.value()).toBe(Number.POSITIVE_INFINITY);
    for (let i = 0; i < 70_000; i++) sum.add(-Number.MAX_VALUE);
    expect(sum.value()).toBe(2 ** 992);
    for (let i = 0; i < 70_000; i++) sum.add(2 ** 992);
    expect(unitsEncoded(sum)).toBe(70_001n << (1074n + 992n));
  });

  test.each([
    [[1e308, 1e308, -1e308], 1e308],
    [[1, 1e100, 1, -1e100], 2],
    [[0.1, 0.2, 0.3], 0.6],
    [[2 ** 53, 1], 2 ** 53],
    [[2 ** 53, 1, 2 ** -1074], 2 ** 53 + 2],
    [[5e-324, -5e-324], 0],
    [[2 ** -1022, -(2 ** -1074)], 2.225073858507201e-308],
    [[Number.MAX_VALUE, 2 ** 969], Number.MAX_VALUE],
    [[Number.MAX_VALUE, 2 ** 970], Number.POSITIVE_INFINITY],
    [[-0, -0], 0],
    [[], 0],
  ])("of %j is %d", (terms, value) => {
    expect(sumOf(terms).value()).toBe(value);
    expect(exactSum(sumOf(terms).encode()).value()).toBe(value);
  });

  test.each([
    [[1, Number.POSITIVE_INFINITY, -1e308], "Infinity"],
    [[Number.NEGATIVE_INFINITY, 1], "-Infinity"],
    [[Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY], "NaN"],
    [[1, Number.NaN, Number.POSITIVE_INFINITY], "NaN"],
    [[1e300, Number.NaN], "NaN"],
  ])("of %j stays %s", (terms, text) => {
    for (const sum of [sumOf(terms), sumOf([...terms].reverse())]) {
      sum.add(3);
      expect(sum.encode()).toBe(text);
      const again = exactSum("1p0");
      again.merge(exactSum(sum.encode()));
      expect(again.value()).toBe(Number(text));
    }
  });

  test("an exact sum merged with itself doubles", () => {
    const sum = sumOf([0.1, 1e200, 3]);
    sum.merge(sum);
    expect(unitsEncoded(sum)).toBe(2n * unitsOf([0.1, 1e200, 3]));
  });

  test.each(["", "1", "1.5p0", "0x1p0", "1p", "nan", "1p12345", "1p-1075"])(
    "the text %j is refused as an exact sum",
    (text) => {
      expect(() => exactSum(text)).toThrow(/is not an encoded exact sum/);
    },
  );
});
