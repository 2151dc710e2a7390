/**
 * Binary logarithm of `x` ≥ 1, too small by at most 2·10⁻⁵. Made of + − × ÷ alone, which IEEE 754 rounds in
 * one way only: `Math.log2` may differ between engines, and a picture must not. It halves `x` to below 2 and
 * sums the first four terms of ln m = 2 artanh((m − 1) / (m + 1)).
 */
export function log2(x: number): number {
  let exponent = 0;
  let m = x;
  for (; m >= 65536; exponent += 16) m /= 65536;
  for (; m >= 2; exponent += 1) m /= 2;
  const a = (m - 1) / (m + 1);
  const square = a * a;
  return exponent + (2 / Math.LN2) * a * (1 + square * (1 / 3 + square * (1 / 5 + square / 7)));
}
