import { preSievedMax } from "./preSieve.ts";
import { classOf } from "./wheel.ts";

/** The primes up to `limit` that the sieve crosses out itself, by class of `wheel.ts`, ascending. */
export interface BasePrimes {
  readonly limit: number;
  readonly classes: readonly Int32Array[];
}

export function basePrimes(limit: number): BasePrimes {
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
