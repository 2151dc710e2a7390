/** Ways to count primes that share nothing with `primes`: trial division, Miller–Rabin, and a sieve as in a textbook. */

function isPrime(n: number): boolean {
  return n < 1e6 ? byTrialDivision(n) : byMillerRabin(BigInt(n));
}

export function countOneByOne(from: number, to: number): number {
  let count = 0;
  for (let n = from; n < to; n++) if (isPrime(n)) count++;
  return count;
}

function byTrialDivision(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return n > 1;
}

/** Deterministic below 3.4 · 10^14 with these bases: Jaeschke 1993, "On strong pseudoprimes to several bases". */
function byMillerRabin(n: bigint): boolean {
  for (const p of [2n, 3n, 5n, 7n, 11n, 13n, 17n]) if (n % p === 0n) return n === p;
  let odd = n - 1n;
  let twos = 0;
  for (; odd % 2n === 0n; odd /= 2n) twos++;
  return [2n, 3n, 5n, 7n, 11n, 13n, 17n].every((base) => passes(base, odd, twos, n));
}

function passes(base: bigint, odd: bigint, twos: number, n: bigint): boolean {
  let x = 1n;
  for (let power = base, left = odd; left > 0n; left /= 2n, power = (power * power) % n) {
    if (left % 2n === 1n) x = (x * power) % n;
  }
  if (x === 1n) return true;
  for (let i = 0; i < twos; i++, x = (x * x) % n) if (x === n - 1n) return true;
  return false;
}

const segment = 1 << 20;
let primes: readonly number[] = [];

/** The sieve of Eratosthenes, a segment at a time, without a wheel. The primes up to the root are kept, as ranges near 10^14 share them. */
export function countBySieve(from: number, to: number): number {
  const root = Math.floor(Math.sqrt(to)) + 1;
  if (root > (primes.at(-1) ?? 0)) primes = primesUpTo(2 * root);
  let count = 0;
  for (let start = Math.max(from, 2); start < to; start += segment) {
    const composite = new Uint8Array(Math.min(segment, to - start));
    for (const p of primes) {
      if (p * p >= start + composite.length) break;
      const first = Math.max(p * p, Math.ceil(start / p) * p) - start;
      for (let at = first; at < composite.length; at += p) composite[at] = 1;
    }
    for (const struck of composite) count += 1 - struck;
  }
  return count;
}

function primesUpTo(limit: number): number[] {
  const composite = new Uint8Array(limit + 1);
  const found: number[] = [];
  for (let n = 2; n <= limit; n++) {
    if (composite[n] === 1) continue;
    found.push(n);
    for (let at = n * n; at <= limit; at += n) composite[at] = 1;
  }
  return found;
}
