import { classOf } from "./wheel.ts";

/** The largest square root of a range's end that the sieve takes: numbers to 10^14. */
export const rootMax = 10_000_000;

/** The primes up to `limit` that a kernel crosses out one by one, by class of `wheel.ts`, ascending. */
export interface BasePrimes {
  readonly limit: number;
  readonly classes: readonly Int32Array[];
}

/**
 * The primes above `preSievedMax` up to `root` or further: in powers of two, so that the slowly rising ends of
 * successive chunks do not compute them anew each time.
 */
export function basePrimes(preSievedMax: number, root: number): BasePrimes {
  const limit = Math.min(rootMax, 2 ** Math.ceil(Math.log2(Math.max(root, 1024))));
  const lists: number[][] = Array.from({ length: 8 }, () => []);
  for (const p of oddPrimesUpTo(limit)) if (p > preSievedMax) lists[classOf(p)]?.push(p);
  return { limit, classes: lists.map((list) => Int32Array.from(list)) };
}

/** How many of `primes` (ascending) are at most `limit`. */
export function countUpTo(primes: Int32Array, limit: number): number {
  let low = 0;
  let high = primes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((primes[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The plain sieve of Eratosthenes over odd numbers. */
export function* oddPrimesUpTo(limit: number): Generator<number> {
  const composite = new Uint8Array((limit >> 1) + 1);
  for (let i = 1; 2 * i + 1 <= limit; i++) {
    if (composite[i] === 1) continue;
    const p = 2 * i + 1;
    yield p;
    for (let j = (p * p - 1) / 2; j < composite.length; j += p) composite[j] = 1;
  }
}
