import * as z from "zod";
import { defineCalculation } from "./contract.ts";
import { numbersPerByte, rootMax } from "./primes/basePrimes.ts";
import { countPrimes } from "./primes/countPrimes.ts";
import { loadSieveKernel } from "./primes/sieveKernel.ts";
import { blockBytes } from "./primes/sieveMemory.ts";
import { shareOf } from "./timeChunks.ts";

const toMax = rootMax ** 2;

/** Counts the primes from `from` to `to`, both included. A partial is the count of one stretch of numbers. */
export const primes = defineCalculation({
  name: "primes",
  version: "1",
  summary: "Counts the primes up to a number with a segmented sieve.",
  params: z
    .strictObject({
      to: z.coerce.number().int().min(0).max(toMax).default(1e9).describe("count primes up to this number"),
      from: z.coerce.number().int().min(0).max(toMax).default(0).describe("count no prime below this number"),
    })
    .superRefine(({ from, to }, context) => {
      const message = `must not be above to, which is ${to}`;
      if (from > to) context.addIssue({ code: "custom", path: ["from"], message });
    }),
  plan: (params) => cut(params).count,
  compute({ index, params }) {
    const { start, stride } = cut(params);
    const from = Math.max(params.from, start + index * stride);
    return countPrimes(loadSieveKernel(), from, Math.min(params.to + 1, start + (index + 1) * stride));
  },
  merge: (a, b) => a + b,
  zero: () => 0,
  finish: (count, context) => ({
    primes: count,
    from: context.params.from,
    to: context.params.to,
    ...shareOf(context),
  }),
});

const blockNumbers = blockBytes * numbersPerByte;
/** Four blocks take about 5 ms, and 160 of them about a second even where the base primes are many. */
const blocksMin = 4;
const blocksMax = 160;
/** A chunk high up first locates many base primes; one block more for this much of the root keeps that share small. */
const rootPerBlock = 200_000;
const chunksWanted = 4_000;

/**
 * Cuts the range into equal stretches of whole blocks, so that no block is half empty. They begin at multiples of 120
 * and so share no byte and no word of the sieve.
 */
function cut({ from, to }: { from: number; to: number }): { start: number; stride: number; count: number } {
  const start = Math.floor(from / 120) * 120;
  const span = Math.max(0, to + 1 - start);
  const blocks = Math.ceil(span / chunksWanted / blockNumbers);
  const least = Math.max(blocksMin, Math.ceil(Math.sqrt(to) / rootPerBlock));
  const stride = Math.min(blocksMax, Math.max(least, blocks)) * blockNumbers;
  return { start, stride, count: from > to ? 0 : Math.ceil(span / stride) };
}
