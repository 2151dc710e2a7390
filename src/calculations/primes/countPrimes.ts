import { bitOfResidue, numbersPerByte, oddPrimesUpTo } from "./basePrimes.ts";

/**
 * The hot part of the sieve: strikes composites out of one block of numbers after the other, one byte for 30 numbers.
 * The kernel is `sieveKernel.ts`; tests compare it with a reference in JavaScript.
 */
export interface SieveKernel {
  /** Multiples of the primes up to this one are struck out whatever the root. */
  readonly preSievedMax: number;
  /**
   * Prepares for blocks from byte `start` on, a multiple of 4, in which multiples of the primes up to `root` are
   * struck out. Returns the length of a block in bytes.
   */
  begin(start: number, root: number): number;
  /**
   * Sieves the next block, `bytes` long at byte `at`: a whole one, or the last one. Returns its bytes, in which the
   * primes up to `root` are struck out as well; they are valid until the next call.
   */
  sieve(at: number, bytes: number): Uint8Array;
  /** How many numbers of the block, `bytes` long, are not struck out. */
  count(bytes: number): number;
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
