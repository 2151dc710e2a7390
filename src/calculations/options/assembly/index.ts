/**
 * The hot loops of the simulation, two doubles at a time, and its elementary functions for one. ../simulate.ts and
 * ../kernel.ts call them; nothing is allocated here.
 */
import { bounds, columnAt, rests, sums } from "./memory";
export { exponential, logarithm } from "./elementary";
export { fractions } from "./fractions";
export { bounds, columns, hits, normals, rests, strideBytes, sums } from "./memory";
export { addPaths } from "./paths";
export { quantile, quantiles } from "./quantiles";

/**
 * Sums the first `count` numbers of a column without any rounding: each is split at two bits that the column's bound
 * gives, 42 apart. The few parts below both go to `rests`, and their number is returned; -1, and nothing is summed, if
 * the numbers are too large or too small for that.
 *
 * The sums begin at 1.5 · 2^52 units of their place and stay below 2^53, so that adding to them is what splits.
 */
export function sumColumn(k: usize, count: usize): i32 {
  const bound = load<f64>(bounds + 8 * k);
  // For zeros any scale does.
  const field = bound == 0 ? 1023 : reinterpret<u64>(bound) >> 52;
  if (field < 200 || field > 1800) return -1;
  const upperStart = f64x2.splat(reinterpret<f64>(((field + 11) << 52) | (1 << 51)));
  const lowerStart = f64x2.splat(reinterpret<f64>(((field - 31) << 52) | (1 << 51)));
  let upperSum = upperStart;
  let lowerSum = lowerStart;
  let found: usize = 0;
  const column = columnAt(k);
  for (let at = column, end = column + 8 * count; at < end; at += 16) {
    const x = v128.load(at);
    const upperNext = f64x2.add(upperSum, x);
    const below = f64x2.sub(x, f64x2.sub(upperNext, upperSum));
    upperSum = upperNext;
    const lowerNext = f64x2.add(lowerSum, below);
    // This way round both 0 and -0 leave 0, of which no bit is set.
    const opposite = f64x2.sub(f64x2.sub(lowerNext, lowerSum), below);
    lowerSum = lowerNext;
    if (v128.any_true(opposite)) {
      const rest = f64x2.neg(opposite);
      v128.store64_lane(rests + 8 * found, rest, 0);
      found += (f64x2.extract_lane(rest, 0) != 0) as usize;
      v128.store64_lane(rests + 8 * found, rest, 1);
      found += (f64x2.extract_lane(rest, 1) != 0) as usize;
    }
  }
  const upper = f64x2.sub(upperSum, upperStart);
  const lower = f64x2.sub(lowerSum, lowerStart);
  store<f64>(sums, f64x2.extract_lane(upper, 0) + f64x2.extract_lane(upper, 1));
  store<f64>(sums, f64x2.extract_lane(lower, 0) + f64x2.extract_lane(lower, 1), 8);
  return found as i32;
}
