/** Ways to count primes that share nothing with the sieve: trial division and Miller–Rabin. */

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
