import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileKernel } from "../../../scripts/compileKernel.mjs";
import { sieveKernel } from "../../../src/calculations/primes/sieveKernel.ts";
import { countPrimes } from "../../../src/calculations/primes.ts";
import { countBySieve } from "./bruteForce.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const compiled = sieveKernel(await compileKernel("primes"));

describe("the kernel of the sieve and a sieve as in a textbook", () => {
  test.each([
    { powers: [0, 12.5], ranges: full ? 3_000 : 100 },
    { powers: [12.5, 14], ranges: full ? 300 : 6 },
  ])(
    "both agree on $ranges random ranges that begin at ten to the power of $powers",
    ({ powers, ranges }) => {
      const [min, max] = powers as [number, number];
      const range = fc
        .tuple(fc.double({ min, max, noNaN: true }), fc.double({ min: 0, max: full ? 7.6 : 6, noNaN: true }))
        .map(([fromPower, lengthPower]) => {
          const from = Math.floor(10 ** fromPower);
          return { from, to: Math.min(from + Math.floor(10 ** lengthPower), 1e14 + 1) };
        });
      fc.assert(
        fc.property(range, ({ from, to }) => {
          expect(countPrimes(compiled, from, to)).toBe(countBySieve(from, to));
        }),
        { numRuns: ranges },
      );
    },
    full ? 1_200_000 : undefined,
  );

  test("both agree around the borders of blocks, wherever these begin", () => {
    const blockNumbers = 512 * 1024 * 30;
    for (const start of full ? [0, 120, 1e6, 1e10 + 77, 1e12 - 7] : [0, 1e10 + 77]) {
      for (const [first, last] of [
        [blockNumbers - 130, blockNumbers + 130],
        [1, 2 * blockNumbers + 1],
      ] as const) {
        const [from, to] = [start + first, start + last];
        expect(countPrimes(compiled, from, to), `${from} to ${to}`).toBe(countBySieve(from, to));
      }
    }
  });

  test("both agree at the end of the numbers that the sieve accepts", () => {
    for (const length of [1, 121, 1_000_000]) {
      const from = 1e14 + 1 - length;
      expect(countPrimes(compiled, from, 1e14 + 1)).toBe(countBySieve(from, 1e14 + 1));
    }
  });

  // https://oeis.org/A006880
  test.runIf(full).each([
    [10, 455_052_511],
    [11, 4_118_054_813],
    [12, 37_607_912_018],
  ])(
    "the kernel counts the published number of primes up to 10^%i",
    (power, published) => {
      expect(countPrimes(compiled, 0, 10 ** power + 1)).toBe(published);
    },
    1_200_000,
  );
});
