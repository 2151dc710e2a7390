import { strikeOdd } from "../../../../src/calculations/primes/basePrimes.ts";

/**
 * Fills a block with the multiples of the smallest primes, which would cost the most stores: the strokes of a few
 * of them together repeat after as many bytes as their product, so they are drawn once and then copied.
 */
const groups = [
  [7, 11, 13, 17],
  [19, 23, 29],
  [31, 37],
  [41, 43],
  [47, 53],
  [59, 61],
] as const;

/** Primes up to this one are dealt with by the patterns. */
export const preSievedMax = 61;

type Patterns = readonly [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];
let cached: Patterns | undefined;

/**
 * Fills `words[first .. first + count)`, which begin at the absolute word `position` (120 numbers to a word).
 * The pre-sieved primes strike themselves out as well; the caller puts them back.
 */
export function preSieve(words: Int32Array, first: number, count: number, position: number): void {
  cached ??= groups.map(drawPattern) as unknown as Patterns;
  const [a, b, c, d, e, f] = cached;
  let i = position % a.length;
  let j = position % b.length;
  let k = position % c.length;
  let l = position % d.length;
  let m = position % e.length;
  let n = position % f.length;
  const end = first + count;
  for (let at = first; at < end; ) {
    const run = Math.min(
      end - at,
      a.length - i,
      b.length - j,
      c.length - k,
      d.length - l,
      e.length - m,
      f.length - n,
    );
    for (let t = 0; t < run; t++) {
      words[at + t] =
        (a[i + t] as number) |
        (b[j + t] as number) |
        (c[k + t] as number) |
        (d[l + t] as number) |
        (e[m + t] as number) |
        (f[n + t] as number);
    }
    at += run;
    i = (i + run) % a.length;
    j = (j + run) % b.length;
    k = (k + run) % c.length;
    l = (l + run) % d.length;
    m = (m + run) % e.length;
    n = (n + run) % f.length;
  }
}

/** Four periods, so that the pattern is a whole number of words wherever it is entered. */
function drawPattern(primes: readonly number[]): Int32Array {
  const bytes = new Uint8Array(4 * primes.reduce((product, p) => product * p, 1));
  strikeOdd(bytes, primes);
  return new Int32Array(bytes.buffer);
}
