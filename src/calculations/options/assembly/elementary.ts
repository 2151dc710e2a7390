/**
 * Exponential and logarithm of two doubles at a time, of +, -, · and / only, which IEEE 754 rounds alike everywhere.
 * Both are within 2 units in the last place; beyond ±700 the exponential is within 4.
 */
import { both } from "./memory";

/** ln 2 in two parts; the upper one has 32 bits, so that its product with an exponent is exact. */
const ln2Upper: f64 = 0.6931471803691238;
const ln2Lower: f64 = 1.9082149292705877e-10;

const one: usize = memory.data<f64>([1.0]);
const perLn2: usize = memory.data<f64>([64.0 / (ln2Upper + ln2Lower)]);
/** 1.5 · 2^52: adding and subtracting it rounds to a whole number. */
const rounder: usize = memory.data<f64>([6755399441055744.0]);
const upperStep: usize = memory.data<f64>([ln2Upper / 64.0]);
const lowerStep: usize = memory.data<f64>([ln2Lower / 64.0]);
/** The exponential series from r² on. */
const powers: usize = memory.data<f64>([1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]);

/** 2^(j/64), by the Taylor series of e^(j ln 2 / 64), from its smallest term on. */
const roots: usize = memory.data(64 * 8, 16);
for (let j: usize = 0; j < 64; j++) {
  let sum: f64 = 1;
  for (let n = 20; n > 0; n--) sum = 1 + (sum * (j as f64) * ((ln2Upper + ln2Lower) / 64)) / (n as f64);
  store<f64>(roots + 8 * j, sum);
}

/**
 * e^x for |x| up to `farFrom`; not to be used beyond. x = (64k + j) ln 2 / 64 + r, a table of 2^(j/64), and the Taylor
 * series for |r| ≤ 0.006.
 */
// @ts-ignore: decorator
@inline
export function exp(x: v128): v128 {
  const shifted = f64x2.add(f64x2.mul(x, both(perLn2)), both(rounder));
  const rounded = f64x2.sub(shifted, both(rounder));
  const upperRest = f64x2.sub(x, f64x2.mul(rounded, both(upperStep)));
  const r = f64x2.sub(upperRest, f64x2.mul(rounded, both(lowerStep)));
  let series = f64x2.add(both(powers + 16), f64x2.mul(r, both(powers + 24)));
  series = f64x2.add(both(powers + 8), f64x2.mul(r, series));
  series = f64x2.add(both(powers), f64x2.mul(r, series));
  series = f64x2.add(r, f64x2.mul(f64x2.mul(r, r), series));
  // The last bits of `shifted` are n = 64k + j, and those of 1 an exponent of 0.
  const first = v128.load64_zero(rootAt(i64x2.extract_lane(shifted, 0)));
  const root = v128.load64_lane(rootAt(i64x2.extract_lane(shifted, 1)), first, 1);
  const power = i64x2.add(i64x2.shl(i64x2.shr_u(shifted, 6), 52), both(one));
  return f64x2.mul(f64x2.add(root, f64x2.mul(root, series)), power);
}

/** Beyond it a power of 2 alone may leave the range of doubles. */
export const farFrom: f64 = 700;

/** e^x for any x but NaN. */
export function farExp(x: v128): v128 {
  const far = f64x2.gt(f64x2.abs(x), f64x2.splat(farFrom));
  const root = exp(f64x2.mul(x, f64x2.splat(0.5)));
  const value = v128.bitselect(f64x2.mul(root, root), exp(x), far);
  const huge = f64x2.gt(x, f64x2.splat(800));
  const tiny = f64x2.lt(x, f64x2.splat(-800));
  return v128.andnot(v128.bitselect(f64x2.splat(Infinity), value, huge), tiny);
}

export function exponential(x: f64): f64 {
  return f64x2.extract_lane(farExp(f64x2.splat(x)), 0);
}

// @ts-ignore: decorator
@inline
function rootAt(n: i64): usize {
  return roots + 8 * ((n as usize) & 63);
}

const half: usize = memory.data<f64>([0.5]);
const two: usize = memory.data<f64>([2.0]);
const halvedFrom: usize = memory.data<f64>([1.41]);
const fractionBits: usize = memory.data<u64>([0xfffffffffffff]);
const wholes: usize = memory.data<f64>([4503599627370496.0]);
const wholesOfOne: usize = memory.data<f64>([4503599627370496.0 + 1023.0]);
const ln2Uppers: usize = memory.data<f64>([ln2Upper]);
const ln2Lowers: usize = memory.data<f64>([ln2Lower]);
/** The series of the inverse hyperbolic tangent from 1/3 on. */
const odds: usize = memory.data<f64>([
  1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0,
  1.0 / 21.0, 1.0 / 23.0, 1.0 / 25.0,
]);

/**
 * ln x of positive normal numbers: x = 2^k m with m in [0.7, 1.41], and the series of the inverse hyperbolic tangent.
 */
// @ts-ignore: decorator
@inline
export function ln(x: v128): v128 {
  const fraction = v128.or(v128.and(x, both(fractionBits)), both(one));
  const large = f64x2.gt(fraction, both(halvedFrom));
  const m = v128.bitselect(f64x2.mul(fraction, both(half)), fraction, large);
  // 2^52 with the exponent's field in its last bits is greater by just that.
  const field = v128.or(i64x2.shr_u(x, 52), both(wholes));
  const k = f64x2.add(f64x2.sub(field, both(wholesOfOne)), v128.and(both(one), large));
  const f = f64x2.sub(m, both(one));
  const t = f64x2.div(f, f64x2.add(m, both(one)));
  const s = f64x2.mul(t, t);
  const s2 = f64x2.mul(s, s);
  const s4 = f64x2.mul(s2, s2);
  let series = f64x2.add(pair(odds, s), f64x2.mul(s2, pair(odds + 16, s)));
  series = f64x2.add(series, f64x2.mul(s4, cubic(odds + 32, s, s2)));
  series = f64x2.add(series, f64x2.mul(f64x2.mul(s4, s4), cubic(odds + 64, s, s2)));
  const correction = f64x2.mul(f64x2.mul(both(two), s), series);
  const rest = f64x2.sub(f, f64x2.mul(t, f64x2.sub(f, correction)));
  const lower = f64x2.add(rest, f64x2.mul(k, both(ln2Lowers)));
  return f64x2.add(f64x2.mul(k, both(ln2Uppers)), lower);
}

export function logarithm(x: f64): f64 {
  return f64x2.extract_lane(ln(f64x2.splat(x)), 0);
}

/** c0 + c1 x + x² (c2 + c3 x), where `table` holds the coefficients. */
// @ts-ignore: decorator
@inline
export function cubic(table: usize, x: v128, x2: v128): v128 {
  return f64x2.add(pair(table, x), f64x2.mul(x2, pair(table + 16, x)));
}

// @ts-ignore: decorator
@inline
function pair(table: usize, x: v128): v128 {
  return f64x2.add(both(table), f64x2.mul(x, both(table + 8)));
}
