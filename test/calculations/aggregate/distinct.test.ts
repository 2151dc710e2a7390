import { describe, expect, test } from "vitest";
import {
  distinctOf,
  estimate,
  exactMax,
  mergeDistinct,
} from "../../../src/calculations/aggregate/measures/distinctMeasure.ts";
import { textHash53 } from "../../../src/calculations/aggregate/measures/murmur3.ts";

const hashes = (prefix: string, count: number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => textHash53(`${prefix}${i}`, 0)).sort();

describe("counting different values", () => {
  test.each([0, 1, 2, 100, exactMax])("the number of different values is exact for %i of them", (count) => {
    expect(estimate(distinctOf(hashes("v", count)))).toBe(count);
  });

  const full = process.env["LEASEFOLD_FULL"] === "1";
  test.each([exactMax + 1, 3_000, ...(full ? [10_000, 100_000, 300_000] : [])])(
    "estimates of %i values over 100 seeds have the published standard error and no bias",
    (count) => {
      const errors = Array.from({ length: 100 }, (_, seed) => {
        const set = distinctOf(hashes(`seed ${seed} value `, count));
        return estimate(set) / count - 1;
      });
      const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
      const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
      const standardError = 1.04 / Math.sqrt(4096);
      // The deviation of 100 trials is itself known to 7 %, their mean to a tenth of the standard error.
      expect(deviation).toBeLessThan(standardError * 1.25);
      expect(Math.abs(mean)).toBeLessThan(standardError * 0.4);
      expect(Math.max(...errors.map(Math.abs))).toBeLessThan(4 * standardError);
    },
    120_000,
  );

  test("merging two states gives the state of the union", () => {
    for (const [left, right, shared] of [
      [200, 200, 100],
      [400, 400, 50],
      [100, 5_000, 100],
      [5_000, 3_000, 1_000],
    ] as const) {
      const all = [...hashes("v", left + right - shared)];
      const a = Float64Array.from(all.slice(0, left)).sort();
      const b = Float64Array.from(all.slice(left - shared)).sort();
      const whole = distinctOf(Float64Array.from(all).sort());
      expect(mergeDistinct(distinctOf(a), distinctOf(b))).toEqual(whole);
      expect(mergeDistinct(distinctOf(b), distinctOf(a))).toEqual(whole);
    }
  });
});
