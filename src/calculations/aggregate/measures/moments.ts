import { nearestRatio, wholeOf } from "./exactTerms.ts";
import { type Squares, scalePower } from "./squaresMeasure.ts";
import type { Sum } from "./sumMeasure.ts";

/** The exact sum correctly rounded; null of no numbers, as in SQL. Infinite beyond the range of doubles. */
export function sumOf({ count, terms }: Sum): number | null {
  if (count === 0) return null;
  const [rounded = 0] = terms;
  return Math.abs(rounded) < Number.MAX_VALUE ? rounded : nearestRatio(wholeOf(terms), 1n, wholeExponent);
}

/** The exact mean, correctly rounded. */
export const meanOf = ({ count, terms }: Sum): number | null =>
  count === 0 ? null : nearestRatio(wholeOf(terms), BigInt(count), wholeExponent);

/** Of a sample, so divided by n - 1; null of fewer than two numbers. The exact one, correctly rounded. */
export function varianceOf({ count, terms }: Sum, { ordinary, huge, tiny }: Squares): number | null {
  if (count < 2) return null;
  const n = BigInt(count);
  const sum = wholeOf(terms);
  // In units of 2^-2148, the square of the sum's.
  const squares =
    (wholeOf(ordinary) << squareBits) +
    (wholeOf(huge) << (squareBits + scaleBits)) +
    ((wholeOf(tiny) << squareBits) >> scaleBits);
  return nearestRatio(n * squares - sum * sum, n * (n - 1n), 2 * wholeExponent);
}

const wholeExponent = -1074;
const squareBits = BigInt(-wholeExponent);
const scaleBits = BigInt(2 * scalePower);
