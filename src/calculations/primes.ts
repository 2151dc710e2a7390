import * as z from "zod";
import { defineCalculation } from "../engine/calculation/contract.ts";
import { shareOf } from "../engine/calculation/timeChunks.ts";
import { bitOfResidue, numbersPerByte, oddPrimesUpTo, rootMax } from "./primes/basePrimes.ts";
import { loadSieveKernel, type SieveKernel } from "./primes/sieveKernel.ts";
import { blockBytes } from "./primes/sieveMemory.ts";

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

/**
 * Counts the primes p with from ≤ p < to, where `to` is at most 10^14 + 1: a segmented sieve of Eratosthenes. Memory
 * does not grow with the length of the range.
 *
 * Not promised: speed on short ranges high up. Each call locates the multiples of every base prime up to √to anew.
 */
export function countPrimes(kernel: SieveKernel, from: number, to: number): number {
  let count = [2, 3, 5].filter((p) => from <= p && p < to).length;
  if (to <= Math.max(from, 7)) return count;
  const root = Math.floor(Math.sqrt(to));
  const end = Math.ceil(to / numbersPerByte);
  // Blocks begin at whole words, which some patterns need; numbers before `from` are struck out again.
  const start = Math.floor(from / (4 * numbersPerByte)) * 4;
  const blockBytes = kernel.begin(start, root);
  const baseMax = Math.max(root, kernel.preSievedMax);
  for (let at = start; at < end; at += blockBytes) {
    const bytes = Math.min(blockBytes, end - at);
    const block = kernel.sieve(at, bytes);
    if (at * numbersPerByte <= baseMax) restoreBasePrimes(block, at, baseMax);
    strike(block, at, at * numbersPerByte, from);
    strike(block, at, to, (at + bytes) * numbersPerByte);
    count += kernel.count(bytes);
  }
  return count;
}

/** Unstrikes base primes: a kernel strikes out the multiple by 1 too, which is the prime itself. 1 is no prime. */
function restoreBasePrimes(block: Uint8Array, at: number, baseMax: number): void {
  for (const p of oddPrimesUpTo(baseMax)) {
    const k = Math.floor(p / numbersPerByte) - at;
    if (k < 0 || k >= block.length) continue;
    block[k] = (block[k] as number) & ~(bitOfResidue[p % numbersPerByte] as number);
  }
  if (at === 0) block[0] = (block[0] as number) | 1;
}

/** Strikes out the numbers n with first ≤ n < last; fewer than 120, at an end of the range. */
function strike(block: Uint8Array, at: number, first: number, last: number): void {
  for (let n = first; n < last; n++) {
    const k = Math.floor(n / numbersPerByte) - at;
    block[k] = (block[k] as number) | (bitOfResidue[n % numbersPerByte] as number);
  }
}
