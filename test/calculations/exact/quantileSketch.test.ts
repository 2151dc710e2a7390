import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type QuantileSketch, quantileSketch } from "../../../src/calculations/exact/quantileSketch.ts";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const lists = fc.array(fc.oneof(finite, fc.integer({ min: -300, max: 300 })), { maxLength: 200 });
const errors = fc.oneof(
  fc.constantFrom(0.5, 0.01, 0.001, 2 ** -20),
  fc.double({ min: 2 ** -20, max: 0.5, noNaN: true }),
);

function sketchOf(error: number, values: readonly number[]): QuantileSketch {
  const sketch = quantileSketch(error);
  for (const x of values) sketch.add(x);
  return sketch;
}

describe("quantileSketch", () => {
  test("a quantile is within the error of the number of its rank, and not farther from zero", () => {
    fc.assert(
      fc.property(lists, errors, fc.nat({ max: 1000 }), (values, error, thousandths) => {
        const found = sketchOf(error, values).quantile(thousandths / 1000);
        if (values.length === 0) {
          expect(found).toBeNull();
          return;
        }
        // By whole numbers, so that 0.9 · 10 is 9.
        const rank = Math.max(1, Math.ceil((thousandths * values.length) / 1000));
        const right = values.toSorted((a, b) => a - b)[rank - 1] as number;
        if (Math.abs(right) < 2 ** -1022) return;
        expect(Math.abs((found as number) - right)).toBeLessThan(error * Math.abs(right) + Number.MIN_VALUE);
      }),
      { numRuns: 2_000 },
    );
  });

  test("any way to merge parts gives the bytes of the sketch of all, also by way of their text", () => {
    fc.assert(
      fc.property(fc.array(lists, { minLength: 3, maxLength: 6 }), errors, (parts, error) => {
        const all = sketchOf(error, parts.flat()).encode();
        const merged = (order: readonly (readonly number[])[]): string => {
          const sum = quantileSketch(error);
          for (const part of order) sum.merge(quantileSketch(error, sketchOf(error, part).encode()));
          return sum.encode();
        };
        expect(merged(parts)).toBe(all);
        expect(merged(parts.toReversed())).toBe(all);
        expect(quantileSketch(error, all).count).toBe(parts.flat().length);
      }),
      { numRuns: 500 },
    );
  });

  test("merging a sketch with itself doubles its counts and keeps its quantiles", () => {
    const sketch = sketchOf(0.01, [1, 2, 3, 100]);
    sketch.merge(sketch);
    expect([sketch.count, sketch.quantile(0.5), sketch.quantile(1)]).toEqual([8, 2, 100]);
  });

  test("both zeros are one number", () => {
    expect(sketchOf(0.1, [-0]).encode()).toBe(sketchOf(0.1, [0]).encode());
    expect(Object.is(sketchOf(0.1, [-0]).quantile(0.5), 0)).toBe(true);
  });

  test("at an error of 0.01 a million numbers over six powers of ten need less than 40 KB", () => {
    const sketch = quantileSketch(0.01);
    for (let n = 1; n <= 1_000_000; n++) sketch.add(n);
    expect(sketch.encode().length).toBeLessThan(40_000);
    expect(Math.abs((sketch.quantile(0.25) as number) - 250_000)).toBeLessThan(2_500);
  });

  test.each([0, 0.51, -1, Number.NaN, 1e-7])("an error of %s is refused", (error) => {
    expect(() => quantileSketch(error)).toThrow("the error of a sketch is from 0.000001 to 0.5");
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "%s is no number to add",
    (x) => {
      expect(() => quantileSketch(0.1).add(x)).toThrow("takes finite numbers");
    },
  );

  test.each(["", "{}", "[]", "[6]", "[7,1]", "[7,1,2,3]", "[7,1,2,3,0]", "[7,1,2,3,1,3,1]", '[7,"1",2,3,1]'])(
    "%s is no sketch with an error of 0.01",
    (text) => {
      expect(() => quantileSketch(0.01, text)).toThrow("is not an encoded sketch");
    },
  );

  test("sketches with different errors are not merged, and quantiles beyond 0 to 1 are refused", () => {
    expect(() => quantileSketch(0.01).merge(quantileSketch(0.1))).toThrow("different errors");
    expect(() => quantileSketch(0.1).quantile(1.5)).toThrow("a quantile is from 0 to 1");
  });
});
