/** Exact arithmetic by another way than the code under test: text of doubles, and rounding by bisection. */

/** A finite double as a whole number of 2^-1074, from its bits. */
export function bigOf(x: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const size = field === 0 ? fraction : (fraction | 0x10000000000000n) << BigInt(field - 1);
  return bits >> 63n === 0n ? size : -size;
}

/** The double nearest to `numerator` / `denominator` · 2^`exponent`, ties to even: by bisection over all doubles. */
export function nearest(numerator: bigint, denominator: bigint, exponent: number): number {
  if (numerator < 0n) return 0 - nearest(-numerator, denominator, exponent);
  // In units of 2^-1075, half of the smallest double: 2·bigOf(x)·denominator against scaled.
  const shift = BigInt(exponent + 1075);
  const [above, below] = shift >= 0n ? [numerator << shift, denominator] : [numerator, denominator << -shift];
  return nearestBy((halfUnits) => above - halfUnits * below);
}

/** The double nearest to the root of `numerator` / `denominator` · 2^`exponent`, none of them negative. */
export function nearestRootBySquares(numerator: bigint, denominator: bigint, exponent: number): number {
  const shift = BigInt(exponent + 2150);
  const [above, below] = shift >= 0n ? [numerator << shift, denominator] : [numerator, denominator << -shift];
  return nearestBy((halfUnits) => above - halfUnits * halfUnits * below);
}

/** `restAt` is positive below the wanted number, 0 at it and negative above; it is asked in units of 2^-1075. */
function nearestBy(restAt: (halfUnits: bigint) => bigint): number {
  const reaches = (halfUnits: bigint): number => {
    const rest = restAt(halfUnits);
    return rest > 0n ? 1 : rest < 0n ? -1 : 0;
  };
  const view = new DataView(new ArrayBuffer(8));
  const doubleAt = (bits: bigint): number => {
    view.setBigUint64(0, bits);
    return view.getFloat64(0);
  };
  let low = 0n;
  let high = 0x7fefffffffffffffn;
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (reaches(2n * bigOf(doubleAt(middle))) >= 0) low = middle;
    else high = middle - 1n;
  }
  const floor = bigOf(doubleAt(low));
  const next = low === 0x7fefffffffffffffn ? 1n << 2098n : bigOf(doubleAt(low + 1n));
  const order = reaches(floor + next);
  const up = order > 0 || (order === 0 && (low & 1n) === 1n);
  if (!up) return doubleAt(low);
  return low === 0x7fefffffffffffffn ? Number.POSITIVE_INFINITY : doubleAt(low + 1n);
}
