/** `mantissa` · 2^`exponent`, exactly. Canonical if the mantissa is odd, or both are 0. */
export interface Dyadic {
  readonly mantissa: bigint;
  readonly exponent: number;
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const [low, high] = new Uint32Array(Float64Array.of(1).buffer)[1] === 0 ? [1, 0] : [0, 1];

/** The exponent field of a double: 0 of zeros and subnormals, 2047 of infinities and NaN. */
export function exponentField(x: number): number {
  double[0] = x;
  return ((words[high] as number) >>> 20) & 0x7ff;
}

/** 2^exponent without rounding; beyond the range of doubles 0 or Infinity. */
export function powerOfTwo(exponent: number): number {
  if (exponent < -1074) return 0;
  if (exponent > 1023) return Number.POSITIVE_INFINITY;
  const normal = exponent >= -1022;
  words[high] = normal ? (exponent + 1023) << 20 : exponent >= -1042 ? 1 << (exponent + 1042) : 0;
  words[low] = exponent < -1042 ? 1 << (exponent + 1074) : 0;
  return double[0] as number;
}

/** The exact value of a finite double. */
export function dyadicOf(x: number): Dyadic {
  const field = exponentField(x);
  const top = (words[high] as number) & 0xfffff;
  const mantissa = BigInt((top + (field > 0 ? 0x100000 : 0)) * 2 ** 32 + (words[low] as number));
  return canonical({ mantissa: x < 0 ? -mantissa : mantissa, exponent: Math.max(1, field) - 1075 });
}

/** The exact sum. */
export function sumOf(terms: readonly Dyadic[]): Dyadic {
  const exponent = terms.reduce((least, term) => Math.min(least, term.exponent), 0);
  let mantissa = 0n;
  for (const term of terms) mantissa += term.mantissa << BigInt(term.exponent - exponent);
  return canonical({ mantissa, exponent });
}

/** The nearest double, ties to even; Infinity from 2^1024 on. */
export function nearest({ mantissa, exponent }: Dyadic): number {
  if (mantissa < 0n) return -nearest({ mantissa: -mantissa, exponent });
  if (mantissa === 0n) return 0;
  const shift = 70 - bitsOf(mantissa);
  const whole = shift > 0 ? mantissa << BigInt(shift) : mantissa >> BigInt(-shift);
  // The last of more than 60 bits is set if there is a remainder, so that a tie is not mistaken.
  const bits = shift < 0 && whole << BigInt(-shift) !== mantissa ? whole | 1n : whole;
  const power = exponent - shift;
  if (Number(bits) * powerOfTwo(power + 1074) < 2 ** 52) {
    // Subnormal doubles have fewer bits, so this rounds to whole multiples of the smallest double.
    return Number(halfEven(bits, BigInt(-1074 - power))) * Number.MIN_VALUE;
  }
  const half = Math.trunc(power / 2);
  return Number(bits) * powerOfTwo(half) * powerOfTwo(power - half);
}

/** `value` / 2^`bits`, rounded to the nearest whole number, ties to even. */
function halfEven(value: bigint, bits: bigint): bigint {
  const floor = value >> bits;
  const rest = value - (floor << bits);
  const tie = 1n << (bits - 1n);
  return rest > tie || (rest === tie && (floor & 1n) === 1n) ? floor + 1n : floor;
}

const bitsOf = (value: bigint): number => 4 * value.toString(16).length;

/** Moves factors of 2 from the mantissa to the exponent. */
function canonical({ mantissa, exponent }: Dyadic): Dyadic {
  if (mantissa === 0n) return { mantissa, exponent: 0 };
  let odd = mantissa;
  let raised = exponent;
  for (; (odd & 0xffffffffn) === 0n; raised += 32) odd >>= 32n;
  const word = Number(odd & 0xffffffffn);
  const zeros = 31 - Math.clz32(word & -word);
  return { mantissa: odd >> BigInt(zeros), exponent: raised + zeros };
}
