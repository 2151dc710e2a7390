import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { borderOf, bucketOf } from "../../../src/calculations/exact/buckets.ts";
import { resultOf } from "./rowsCalculation.ts";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

describe("buckets", () => {
  test("the border is less than 1/128 nearer to zero than every number of its bucket", () => {
    fc.assert(
      fc.property(finite, (x) => {
        const border = borderOf(bucketOf(x));
        expect(Math.abs(border)).toBeLessThanOrEqual(Math.abs(x));
        if (Math.abs(x) >= 2 ** -1022) expect(Math.abs(x - border)).toBeLessThan(Math.abs(x) / 128);
      }),
      { numRuns: 2_000 },
    );
  });

  test("bucket numbers rise with their numbers", () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        if (a < b) expect(bucketOf(a)).toBeLessThanOrEqual(bucketOf(b));
      }),
      { numRuns: 2_000 },
    );
  });

  test("zero and whole numbers up to 256 are their own border", () => {
    for (let n = -256; n <= 256; n++) expect(borderOf(bucketOf(n))).toBe(n);
  });
});

describe("quantiles", () => {
  /** Small generators with a seed each, of very different shapes. */
  const shapes: readonly ((random: () => number) => number)[] = [
    (random) => random(),
    (random) => -Math.log(1 - random()) * 1000,
    (random) => Math.exp(20 * (random() - 0.5)),
    (random) => (random() - 0.5) * 1e6,
    (random) => Math.floor(random() * 5),
    (random) => (1 - random()) ** -3,
  ];
  const randomOf = (seed: number) => {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
  };

  test("quantiles are within 1/128 of the number of that rank over 100 seeds", async () => {
    const shares = ["0", "0.01", "0.25", "0.5", "0.9", "0.99", "0.999", "1"];
    for (let seed = 0; seed < 100; seed++) {
      const random = randomOf(seed);
      const shape = shapes[seed % shapes.length] as (random: () => number) => number;
      const values = Array.from({ length: 200 + seed * 5 }, () => shape(random));
      const sorted = values.toSorted((a, b) => a - b);
      const { rows } = await resultOf(
        { columns: ["x"], rows: values.map((x) => [x]) },
        { aggregates: shares.map((share) => `quantile(x,${share})`).join(", ") },
      );
      for (const share of shares) {
        const rank = Math.max(1, Math.ceil(Number(share) * values.length));
        const exact = sorted[rank - 1] as number;
        const answer = rows[0]?.[`quantile(x,${share})`] as number;
        expect(Math.abs(answer - exact), `seed ${seed}, quantile ${share}`).toBeLessThanOrEqual(
          Math.abs(exact) / 128,
        );
      }
    }
  });

  test("quantiles have the rank of percentile_disc, even if a share times n is not exact in doubles", async () => {
    const rows = Array.from({ length: 100 }, (_, i) => [String(i + 1)]);
    const {
      rows: [row],
    } = await resultOf(
      { columns: ["x"], rows },
      { aggregates: "quantile(x,0.07), quantile(x,0.57), p50(x), p99.5(x), quantile(x,0), quantile(x,1)" },
    );
    expect(Object.values(row ?? {})).toEqual([7, 57, 50, 100, 1, 100]);
  });
});
