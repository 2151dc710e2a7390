import { countUpTo, oddPrimesUpTo } from "./basePrimes.ts";
import { countZeros } from "./countZeros.ts";
import { crossSparse } from "./crossSparse.ts";
import { crossTurns } from "./crossTurns.ts";
import { preSieve, preSievedMax } from "./preSieve.ts";
import { blockBytes, marginBytes, type Scratch, scratchFor, smallMax, subBlockBytes } from "./scratch.ts";
import { bitOfResidue, carries, numbersPerByte, turnBytes } from "./wheel.ts";

/**
 * Counts the primes p with from ≤ p < to, where `to` is at most 10^14 + 1: a segmented sieve of Eratosthenes with
 * one byte for 30 numbers. Memory does not grow with the length of the range.
 *
 * Not promised: speed on short ranges high up. Each call places every base prime up to √to anew.
 */
export function countPrimes(from: number, to: number): number {
  let count = [2, 3, 5].filter((p) => from <= p && p < to).length;
  if (to <= Math.max(from, 7)) return count;
  const root = Math.floor(Math.sqrt(to));
  const scratch = scratchFor(root);
  const end = Math.ceil(to / numbersPerByte);
  // Blocks begin at whole words, which the patterns need; what lies before `from` is struck out again.
  const start = Math.floor(from / (4 * numbersPerByte)) * 4;
  const runs = placeBasePrimes(scratch, start, root);
  for (let at = start; at < end; at += blockBytes) {
    const bytes = Math.min(blockBytes, end - at);
    sieveBlock(scratch, runs, at, bytes);
    if (at * numbersPerByte <= Math.max(root, preSievedMax)) putBackBasePrimes(scratch, at, bytes, root);
    strike(scratch, at, at * numbersPerByte, from);
    strike(scratch, at, to, (at + bytes) * numbersPerByte);
    // Counted by eight words; the padding is struck out so that it counts nothing.
    const padded = marginBytes + ((bytes + 31) & ~31);
    scratch.bytes.fill(0xff, marginBytes + bytes, padded);
    count += countZeros(scratch.words, marginBytes >> 2, padded >> 2);
  }
  return count;
}

/** How many primes of a class are crossed in sub-blocks, in whole turns, and at all. */
interface Runs {
  readonly small: number;
  readonly dense: number;
  readonly all: number;
}

/** Finds for every base prime its place in the block that begins at byte `start`. */
function placeBasePrimes({ base, next, place }: Scratch, start: number, root: number): Runs[] {
  return base.classes.map((primes, c) => {
    const all = countUpTo(primes, root);
    const dense = Math.min(all, countUpTo(primes, marginBytes));
    const at = next[c] as Int32Array;
    const places = place[c] as Uint8Array;
    const carry = carries[c] as readonly number[];
    for (let i = 0; i < all; i++) {
      const p = primes[i] as number;
      const a = (p / numbersPerByte) | 0;
      // The turn that is under way where the block begins: turns begin p bytes apart, the first one at byte a.
      let k = Math.floor((start - a) / p) * p + a - start;
      if (i >= dense) {
        const turn = k;
        let w = 0;
        while (k < 0) {
          w++;
          k = w === 8 ? turn + p : turn + (turnBytes[w] as number) * a + (carry[w] as number);
        }
        places[i] = w & 7;
      }
      at[i] = k + marginBytes;
    }
    return { small: Math.min(all, countUpTo(primes, smallMax)), dense, all };
  });
}

function sieveBlock(scratch: Scratch, runs: readonly Runs[], at: number, bytes: number): void {
  const { view, words, base, next, place } = scratch;
  const limit = marginBytes + bytes;
  preSieve(words, marginBytes >> 2, (bytes + 3) >> 2, at / 4);
  for (let sub = marginBytes; sub < limit; sub += subBlockBytes) {
    const end = Math.min(limit, sub + subBlockBytes);
    for (let c = 0; c < 8; c++) {
      crossTurns[c]?.(
        view,
        base.classes[c] as Int32Array,
        next[c] as Int32Array,
        0,
        runs[c]?.small ?? 0,
        end,
      );
    }
  }
  for (let c = 0; c < 8; c++) {
    const { small, dense, all } = runs[c] as Runs;
    const primes = base.classes[c] as Int32Array;
    const at = next[c] as Int32Array;
    crossTurns[c]?.(view, primes, at, small, dense, limit);
    const sparse = { residueClass: c, first: dense, last: all, end: limit };
    crossSparse(view, primes, at, place[c] as Uint8Array, sparse);
    // On to the next block. A turn that reached into the right margin is crossed there once more, from the left.
    for (let i = 0; i < dense; i++) at[i] = (at[i] as number) - bytes - (primes[i] as number);
    for (let i = dense; i < all; i++) at[i] = (at[i] as number) - bytes;
  }
}

/** Every turn holds the multiple by 1 too, which strikes out the prime itself; and 1 is no prime. */
function putBackBasePrimes({ bytes }: Scratch, at: number, length: number, root: number): void {
  for (const p of oddPrimesUpTo(Math.max(root, preSievedMax))) {
    const k = Math.floor(p / numbersPerByte) - at;
    if (k < 0 || k >= length) continue;
    bytes[marginBytes + k] =
      (bytes[marginBytes + k] as number) & ~(bitOfResidue[p % numbersPerByte] as number);
  }
  if (at === 0) bytes[marginBytes] = (bytes[marginBytes] as number) | 1;
}

/** Strikes out the numbers n with first ≤ n < last; fewer than 120, at an end of the range. */
function strike({ bytes }: Scratch, at: number, first: number, last: number): void {
  for (let n = first; n < last; n++) {
    const k = marginBytes + Math.floor(n / numbersPerByte) - at;
    bytes[k] = (bytes[k] as number) | (bitOfResidue[n % numbersPerByte] as number);
  }
}
