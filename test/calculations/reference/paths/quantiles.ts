import { blockNormals } from "../../../../src/calculations/options/kernel.ts";
import { ln } from "./elementary.ts";

/**
 * Quantiles of the standard normal distribution by algorithm AS 241, PPND16: M. Wichura, "The percentage
 * points of the normal distribution", Applied Statistics 37 (1988), 477–484; to about 16 digits. Its rational
 * functions are written out, by pairs of coefficients that a processor computes side by side, because
 * simulations spend their time here.
 */

/** Up to so far from 1/2 a probability is in the middle. */
const middleMax = 0.425;

/** The quantile of probability 1/2 + q, for -1/2 < q < 1/2. */
export function quantileFromMiddle(q: number): number {
  return Math.abs(q) <= middleMax ? q * middleRatio(0.180625 - q * q) : tailQuantile(q);
}

/**
 * Replaces each of the first `count` numbers q, at most `blockNormals`, by the quantile of 1/2 + q. First all
 * as if they were in the middle, then those that are not: a processor guesses wrongly at a choice that 15 % of
 * the numbers make.
 */
export function quantilesFromMiddle(values: Float64Array, count: number): void {
  let found = 0;
  for (let i = 0; i < count; i++) {
    const q = values[i] as number;
    tailPlaces[found] = i;
    tailValues[found] = q;
    found += Number(Math.abs(q) > middleMax);
    values[i] = q * middleRatio(0.180625 - q * q);
  }
  for (let j = 0; j < found; j++) values[tailPlaces[j] as number] = tailQuantile(tailValues[j] as number);
}

const tailPlaces = new Int32Array(blockNormals);
const tailValues = new Float64Array(blockNormals);

function tailQuantile(q: number): number {
  const r = Math.sqrt(-ln(0.5 - Math.abs(q)));
  const size = r > 5 ? farRatio(r - 5) : nearRatio(r - 1.6);
  return q < 0 ? -size : size;
}

function middleRatio(r: number): number {
  const r2 = r * r;
  const r4 = r2 * r2;
  const above =
    3.3871328727963665 +
    r * 133.14166789178438 +
    r2 * (1971.5909503065513 + r * 13731.69376550946) +
    r4 * (45921.95393154987 + r * 67265.7709270087 + r2 * (33430.57558358813 + r * 2509.0809287301227));
  const below =
    1 +
    r * 42.31333070160091 +
    r2 * (687.1870074920579 + r * 5394.196021424751) +
    r4 * (21213.794301586597 + r * 39307.89580009271 + r2 * (28729.085735721943 + r * 5226.495278852854));
  return above / below;
}

function nearRatio(s: number): number {
  const s2 = s * s;
  const s4 = s2 * s2;
  const above =
    1.4234371107496835 +
    s * 4.630337846156546 +
    s2 * (5.769497221460691 + s * 3.6478483247632045) +
    s4 *
      (1.2704582524523684 + s * 0.2417807251774506 + s2 * (0.022723844989269184 + s * 0.0007745450142783414));
  const below =
    1 +
    s * 2.053191626637759 +
    s2 * (1.6763848301838038 + s * 0.6897673349851) +
    s4 *
      (0.14810397642748008 +
        s * 0.015198666563616457 +
        s2 * (0.0005475938084995345 + s * 1.0507500716444169e-9));
  return above / below;
}

function farRatio(s: number): number {
  const s2 = s * s;
  const s4 = s2 * s2;
  const above =
    6.657904643501103 +
    s * 5.463784911164114 +
    s2 * (1.7848265399172913 + s * 0.29656057182850487) +
    s4 *
      (0.026532189526576124 +
        s * 0.0012426609473880784 +
        s2 * (2.7115555687434876e-5 + s * 2.0103343992922881e-7));
  const below =
    1 +
    s * 0.599832206555888 +
    s2 * (0.1369298809227358 + s * 0.014875361290850615) +
    s4 *
      (0.0007868691311456133 +
        s * 1.8463183175100548e-5 +
        s2 * (1.421511758316446e-7 + s * 2.0442631033899397e-15));
  return above / below;
}
