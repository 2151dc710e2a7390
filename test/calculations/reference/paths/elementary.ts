import { exponentField, powerOfTwo } from "../../../../src/calculations/exact/dyadic.ts";

/**
 * Exponential and logarithm of +, -, · and / only, which IEEE 754 rounds alike everywhere: the same bits on
 * any machine and in any engine. `Math.exp` and `Math.log` may differ between versions of JavaScript engines.
 *
 * Both are within 2 units in the last place; beyond ±700 the exponential is within 4.
 */

/** ln 2 in two parts; the upper one has 32 bits, so that its product with an exponent is exact. */
const ln2Upper = 0.6931471803691238;
const ln2Lower = 1.9082149292705877e-10;
const ln2 = ln2Upper + ln2Lower;
/** Adding and taking it away rounds to a whole number. */
const rounder = 1.5 * 2 ** 52;
const scratch = Float64Array.of(2 ** 52 + 1);
const scratchWords = new Int32Array(scratch.buffer);
const lowWord = scratchWords.indexOf(1);

const powersFrom = -1080;
const powers = Float64Array.from({ length: 2_160 }, (_, i) => powerOfTwo(i + powersFrom));
/** 2^(j/64), by the Taylor series of e^(j ln 2 / 64), from its smallest term on. */
const roots = Float64Array.from({ length: 64 }, (_, j) => {
  let sum = 1;
  for (let n = 20; n > 0; n--) sum = 1 + (sum * j * (ln2 / 64)) / n;
  return sum;
});

/**
 * e^x: x = (64k + j) ln 2 / 64 + r, a table of 2^(j/64), and the Taylor series for |r| ≤ 0.006. Not for NaN.
 */
export function exp(x: number): number {
  if (x > farFrom || x < -farFrom) return farExp(x);
  const shifted = x * (64 / ln2) + rounder;
  // Its last bits are the rounded whole number: read there, it needs no slow conversion.
  scratch[0] = shifted;
  const n = scratchWords[lowWord] as number;
  const rounded = shifted - rounder;
  const r = x - rounded * (ln2Upper / 64) - rounded * (ln2Lower / 64);
  const series = r + r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120))));
  const root = roots[n & 63] as number;
  return (root + root * series) * (powers[(n >> 6) - powersFrom] as number);
}

/** Where 2^k alone may leave the range of doubles. */
const farFrom = 700;

function farExp(x: number): number {
  if (x > 800) return Number.POSITIVE_INFINITY;
  return x < -800 ? 0 : exp(x / 2) * exp(x / 2);
}

/**
 * ln x of a positive finite x: x = 2^k m with m in [0.7, 1.41], and the series of the inverse hyperbolic
 * tangent.
 */
export function ln(x: number): number {
  if (x < 2 ** -1022) return ln(x * 2 ** 54) - 54 * ln2Upper - 54 * ln2Lower;
  let k = exponentField(x) - 1023;
  let m = x * (powers[-k - powersFrom] as number);
  if (m > 1.41) {
    m /= 2;
    k += 1;
  }
  const t = (m - 1) / (m + 1);
  const s = t * t;
  const s2 = s * s;
  const s4 = s2 * s2;
  const series =
    1 / 3 +
    s * (1 / 5) +
    s2 * (1 / 7 + s * (1 / 9)) +
    s4 * (1 / 11 + s * (1 / 13) + s2 * (1 / 15 + s * (1 / 17))) +
    s4 * s4 * (1 / 19 + s * (1 / 21) + s2 * (1 / 23 + s * (1 / 25)));
  // 2t = (m - 1) - t (m - 1), where m - 1 is exact.
  const f = m - 1;
  return k * ln2Upper + (f - t * (f - 2 * s * series) + k * ln2Lower);
}
