import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileKernel } from "../../../scripts/compileKernel.mjs";
import { sieveKernel } from "../../../src/calculations/primes/sieveKernel.ts";
import { blockBytes } from "../../../src/calculations/primes/sieveMemory.ts";
import { countPrimes as countWith } from "../../../src/calculations/primes.ts";
import { countOneByOne } from "./bruteForce.ts";

const blockNumbers = blockBytes * 30;

// Compiled from the current source, or taken from the cache that the build fills.
const kernel = sieveKernel(await compileKernel("primes"));
const countPrimes = (from: number, to: number): number => countWith(kernel, from, to);

describe("countPrimes", () => {
  // https://oeis.org/A006880
  test.each([
    [0, 0],
    [1, 4],
    [2, 25],
    [3, 168],
    [4, 1_229],
    [5, 9_592],
    [6, 78_498],
    [7, 664_579],
    [8, 5_761_455],
    [9, 50_847_534],
  ])("the count of primes up to 10^%i is the published one", (power, published) => {
    expect(countPrimes(0, 10 ** power + 1)).toBe(published);
  });

  test("every short range from 0 to 100 and every number to 500 is counted right", () => {
    for (let from = 0; from <= 100; from++) {
      for (let to = from; to <= 100; to++) expect(countPrimes(from, to)).toBe(countOneByOne(from, to));
    }
    for (let n = 0; n < 500; n++) expect(countPrimes(n, n + 1)).toBe(countOneByOne(n, n + 1));
  });

  test("an empty or reversed range has no primes", () => {
    expect(countPrimes(10, 10)).toBe(0);
    expect(countPrimes(1_000_003, 1_000_003)).toBe(0);
    expect(countPrimes(100, 10)).toBe(0);
  });

  test("a prime belongs to the range that begins with it, not to the one that ends before it", () => {
    for (const p of [2, 3, 5, 7, 31, 61, 67, 1_000_003, 999_999_999_989]) {
      expect(countPrimes(p, p + 1)).toBe(1);
      expect(countPrimes(p + 1, p + 2)).toBe(p === 2 ? 1 : 0);
      expect(countPrimes(p - 1, p)).toBe(p === 3 ? 1 : 0);
    }
  });

  test("twin primes on both sides of a border are counted once each", () => {
    for (const middle of [4, 6, 12, 30, 60, 30_090, 1_000_000_000_062]) {
      expect(countPrimes(middle - 1, middle)).toBe(1);
      expect(countPrimes(middle, middle + 2)).toBe(1);
      expect(countPrimes(middle - 1, middle + 2)).toBe(2);
    }
  });

  test("squares of primes, which only their own base prime strikes out, are no primes", () => {
    for (const p of [67, 8_191, 8_209, 131_071, 131_101, 999_983, 3_162_277, 9_999_991]) {
      expect(countPrimes(p * p, p * p + 1)).toBe(0);
      expect(countPrimes(p * p - 60, p * p + 60)).toBe(countOneByOne(p * p - 60, p * p + 60));
    }
  });

  test.each([1e9, 1e10, 1e11, 1e12, 1e13, 1e14 - 6_000])(
    "the count around %i agrees with Miller–Rabin",
    (from) => {
      expect(countPrimes(from - 2_000, from + 4_000)).toBe(countOneByOne(from - 2_000, from + 4_000));
    },
  );

  // Counted with primesieve 11: primesieve A -d B.
  test.each([
    [1e12, 5e7, 1_808_833],
    [1e13, 5e7, 1_671_204],
  ])("the count of several blocks from %i is that of primesieve", (from, length, counted) => {
    expect(countPrimes(from, from + length)).toBe(counted);
  });

  test("the parts of any split add up to the whole", () => {
    const border = fc.oneof(
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 3 * blockNumbers }),
      fc.integer({ min: -200, max: 200 }).map((near) => blockNumbers + near),
    );
    fc.assert(
      fc.property(
        fc.array(border, { minLength: 3, maxLength: 6 }),
        fc.constantFrom(0, 1e6, 1e10, 1e12 - 7),
        (borders, origin) => {
          const cuts = borders.sort((a, b) => a - b).map((cut) => origin + cut);
          const whole = countPrimes(cuts[0] as number, cuts.at(-1) as number);
          let sum = 0;
          for (let i = 1; i < cuts.length; i++) sum += countPrimes(cuts[i - 1] as number, cuts[i] as number);
          expect(sum).toBe(whole);
        },
      ),
      { numRuns: 15 },
    );
  });
});
