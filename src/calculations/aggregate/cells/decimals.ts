const [zero, plus, minus, dot, lowerE] = [0x30, 0x2b, 0x2d, 0x2e, 0x65] as const;

/** The powers of ten that a double holds exactly. */
const exactPowerMax = 22;
const powersOfTen = Float64Array.from({ length: exactPowerMax + 1 }, (_, power) => Number(`1e${power}`));

/** Digits of an exponent that are read here: the power is bounded by `exactPowerMax` anyway. */
const exponentDigitsMax = 3;

/**
 * The number of a plain decimal in `bytes[from, to)`, the same double as `Number` gives for its text; zero has no sign.
 * NaN for anything else, also for a number that takes more than one rounding: its text has to be read by `Number`.
 *
 * Digits below 2^53 and powers of ten up to 10^22 are exact doubles, so the one product or quotient of them is rounded
 * correctly (W. Clinger, "How to read floating point numbers accurately", PLDI 1990).
 */
export function decimalAt(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to) return Number.NaN;
  const sign = bytes[from] as number;
  const first = sign === minus || sign === plus ? from + 1 : from;
  let at = first;
  let digits = 0;
  let point = -1;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else if (digit === dot - zero && point < 0) point = at;
    else break;
  }
  // Too many digits are rounded here, but never to below 2^53.
  if (digits >= 2 ** 53 || at - first === (point < 0 ? 0 : 1)) return Number.NaN;
  const decimals = point < 0 ? 0 : at - point - 1;
  const power = at === to ? -decimals : exponentAt(bytes, at, to) - decimals;
  let value = digits;
  if (power < 0 && power >= -exactPowerMax) value = digits / (powersOfTen[-power] as number);
  else if (power > 0 && power <= exactPowerMax) value = digits * (powersOfTen[power] as number);
  else if (power !== 0) return Number.NaN;
  return sign === minus ? 0 - value : value;
}

/** The exponent, `e` and the power, that `bytes[from, to)` is; NaN if it is none or a long one. */
function exponentAt(bytes: Uint8Array, from: number, to: number): number {
  if (((bytes[from] as number) | 0x20) !== lowerE || from + 1 === to) return Number.NaN;
  const sign = bytes[from + 1] as number;
  const first = sign === minus || sign === plus ? from + 2 : from + 1;
  if (first === to || to - first > exponentDigitsMax) return Number.NaN;
  let power = 0;
  for (let at = first; at < to; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    power = power * 10 + digit;
  }
  return sign === minus ? -power : power;
}
