const powersOfTen: usize = memory.data<f64>([
  1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
]);
const digitsMax: i32 = 15;

/**
 * The number of a decimal in `[from, to)` that has at most 15 digits and no exponent, the same double as ../fields.ts
 * gives; NaN for anything else. Reads 16 bytes.
 */
export function decimalAt(from: usize, to: usize): f64 {
  const sign = load<u8>(from);
  const first = from + ((sign === 0x2d || sign === 0x2b) as usize);
  const length = (to - first) as i32;
  if ((length as u32) > 16) return NaN;
  const others = ~digitsAt(first) & ((1 << length) - 1);
  const whole = others === 0 ? length : ctz(others);
  if (others !== 0 && ((others & (others - 1)) !== 0 || load<u8>(first + whole) !== 0x2e)) return NaN;
  const digits = others === 0 ? length : length - 1;
  if (digits === 0 || digits > digitsMax) return NaN;
  const value = valueOf(first, whole, digits);
  return sign === 0x2d ? 0 - value : value;
}

/** A bit for each of 16 bytes that is a digit. */
// @ts-ignore: decorator
@inline
export function digitsAt(from: usize): i32 {
  return i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(from), i8x16.splat(0x30)), i8x16.splat(10)));
}

/** The decimal of `whole` digits, and a point if there are more, at `first`: at most 15 of them, so that there is one rounding. */
// @ts-ignore: decorator
@inline
function valueOf(first: usize, whole: i32, digits: i32): f64 {
  // The digits without the point, at the right end behind zeros: bytes beyond 16 are zeros.
  const order = i8x16.sub(i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), i8x16.splat((16 - digits) as i8));
  const from = i8x16.sub(order, i8x16.ge_s(order, i8x16.splat(whole as i8)));
  const single = i8x16.swizzle(i8x16.sub(v128.load(first), i8x16.splat(0x30)), from);
  // Two, four and eight digits at a time.
  const left = v128.and(single, i16x8.splat(0xff));
  const pairs = i16x8.add(i16x8.mul(left, i16x8.splat(10)), i16x8.shr_u(single, 8));
  const fours = i32x4.dot_i16x8_s(pairs, i16x8(100, 1, 100, 1, 100, 1, 100, 1));
  const both = i16x8.narrow_i32x4_u(fours, fours);
  const eights = i32x4.dot_i16x8_s(both, i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  const value = (i32x4.extract_lane(eights, 0) as f64) * 1e8 + (i32x4.extract_lane(eights, 1) as f64);
  return whole === digits ? value : value / load<f64>(powersOfTen + ((digits - whole) << 3));
}
