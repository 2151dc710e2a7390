/** The largest square root of a range's end that the sieve accepts: numbers to 10^14. */
export const rootMax = 10_000_000;

/**
 * The wheel of 30. Every prime above 5 leaves one of eight remainders when divided by 30, so one byte with one
 * bit for each remainder stands for 30 numbers. Byte b, bit i is the number 30 b + residues[i].
 */
const residues = [1, 7, 11, 13, 17, 19, 23, 29] as const;
export const numbersPerByte = 30;

/** The bit of a remainder as a mask; 0 for numbers that 2, 3 or 5 divide. */
export const bitOfResidue: readonly number[] = Array.from({ length: numbersPerByte }, (_, residue) => {
  const bit = (residues as readonly number[]).indexOf(residue);
  return bit < 0 ? 0 : 1 << bit;
});

/** Base primes that a kernel crosses out one by one, by residue class, ascending, up to `limit`. */
export interface BasePrimes {
  readonly limit: number;
  readonly classes: readonly Int32Array[];
}

/**
 * The primes above `preSievedMax` up to `root` or further. The limit is a power of two, so that the slowly rising ends
 * of successive chunks do not compute them anew each time.
 */
export function basePrimes(preSievedMax: number, root: number): BasePrimes {
  const limit = Math.min(rootMax, 2 ** (32 - Math.clz32(Math.max(Math.ceil(root), 1024) - 1)));
  const primes = [...oddPrimesUpTo(limit)].filter((p) => p > preSievedMax);
  const classes = residues.map((r) => Int32Array.from(primes.filter((p) => p % numbersPerByte === r)));
  return { limit, classes };
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

/** Strikes the odd multiples of `primes` out of bytes that begin with the number 0. */
export function strikeOdd(bytes: Uint8Array, primes: readonly number[]): void {
  for (const p of primes) {
    for (let n = p; n < bytes.length * numbersPerByte; n += 2 * p) {
      const at = Math.floor(n / numbersPerByte);
      bytes[at] = (bytes[at] as number) | (bitOfResidue[n % numbersPerByte] as number);
    }
  }
}
