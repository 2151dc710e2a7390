import { exponentField, powerOfTwo } from "./dyadic.ts";

/**
 * Quantiles of the standard normal distribution by algorithm AS 241, PPND16: M. Wichura, "The percentage points of the normal
 * distribution", Applied Statistics 37 (1988), 477–484; to about 16 digits. Its rational functions follow: the numerator's
 * coefficients, then the denominator's. `middle` is of 0.180625 - q², `near` of r - 1.6, `far` of r - 5.
 *
 * All of it is +, -, ·, / and √, which IEEE 754 rounds alike everywhere, so that the order of the operations is part of the result.
 */
const middle = [
  [
    3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
    67265.7709270087, 33430.57558358813, 2509.0809287301227,
  ],
  [
    1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
    28729.085735721943, 5226.495278852854,
  ],
] as const;
const near = [
  [
    1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
    0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
  ],
  [
    1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
    0.0005475938084995345, 1.0507500716444169e-9,
  ],
] as const;
const far = [
  [
    6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
    0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7,
  ],
  [
    1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
    1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899397e-15,
  ],
] as const;

/** The quantile of probability 1/2 + q, for -1/2 < q < 1/2. */
export function normalQuantile(q: number): number {
  if (Math.abs(q) <= 0.425) return q * ratio(middle, 0.180625 - q * q);
  const r = Math.sqrt(-ln(0.5 - Math.abs(q)));
  const size = r > 5 ? ratio(far, r - 5) : ratio(near, r - 1.6);
  return q < 0 ? -size : size;
}

type Septic = readonly [number, number, number, number, number, number, number, number];

function ratio([above, below]: readonly [Septic, Septic], r: number): number {
  const r2 = r * r;
  const r4 = r2 * r2;
  return septic(above, r, r2, r4) / septic(below, r, r2, r4);
}

const septic = ([a, b, c, d, e, f, g, h]: Septic, r: number, r2: number, r4: number): number =>
  a + r * b + r2 * (c + r * d) + r4 * (e + r * f + r2 * (g + r * h));

/** ln 2 in two parts; the upper one has 32 bits, so that its product with an exponent is exact. */
const ln2Upper = 0.6931471803691238;
const ln2Lower = 1.9082149292705877e-10;

/**
 * ln x of a positive normal number, within 2 units in the last place: x = 2^k m with m in [0.7, 1.41], and the series of the
 * inverse hyperbolic tangent.
 */
function ln(x: number): number {
  let k = exponentField(x) - 1023;
  let m = x * powerOfTwo(-k);
  if (m > 1.41) {
    m /= 2;
    k += 1;
  }
  // 2t = (m - 1) - t (m - 1), where m - 1 is exact.
  const f = m - 1;
  const t = f / (m + 1);
  const s = t * t;
  const s2 = s * s;
  const s4 = s2 * s2;
  const series =
    1 / 3 +
    s * (1 / 5) +
    s2 * (1 / 7 + s * (1 / 9)) +
    s4 * (1 / 11 + s * (1 / 13) + s2 * (1 / 15 + s * (1 / 17))) +
    s4 * s4 * (1 / 19 + s * (1 / 21) + s2 * (1 / 23 + s * (1 / 25)));
  return k * ln2Upper + (f - t * (f - 2 * s * series) + k * ln2Lower);
}
