import { nearestRatio, nearestRoot } from "../../exact/dyadic.ts";
import { emptyCell } from "../cells/cells.ts";
import type { Reader, Writer } from "../partial/bytes.ts";
import { ExactSums, mergeTerms, type Terms, wholeOf } from "./exactTerms.ts";
import { grown, type Measure } from "./measure.ts";

/** Counts the fields of a column that are not empty; counts rows if `column` is the empty text. */
export const countMeasure = (column: string): Measure<number> => ({
  start(columns) {
    const at = column === "" ? -1 : columns.indexOf(column);
    let counts = new Float64Array(0);
    return {
      add(selection, groups) {
        counts = grown(counts, groups);
        const { cells, count, index, group } = selection;
        for (let i = 0; i < count; i++) {
          const isEmpty = at !== -1 && cells.kinds[(index[i] as number) * cells.width + at] === emptyCell;
          if (!isEmpty) counts[group[i] as number] = (counts[group[i] as number] as number) + 1;
        }
      },
      state: (group) => counts[group] as number,
    };
  },
  merge: (a, b) => a + b,
  write: (count, out) => out.count(count),
  read: (from) => from.count(),
});

/** How many numbers there are and their exact sum. */
interface Sum {
  readonly count: number;
  readonly terms: Terms;
}

export const sumMeasure = (column: string): Measure<Sum> => ({
  start(columns, meter) {
    const numbers = columns.numbers(column);
    const sums = new ExactSums(meter);
    let counts = new Float64Array(0);
    return {
      add(selection, groups) {
        counts = grown(counts, groups);
        sums.reserve(groups);
        const { count, group } = selection;
        const values = numbers.of(selection);
        for (let i = 0; i < count; i++) {
          const x = values[i] as number;
          if (Number.isNaN(x)) continue;
          const of = group[i] as number;
          counts[of] = (counts[of] as number) + 1;
          sums.add(of, x);
        }
      },
      state: (group) => ({ count: counts[group] as number, terms: sums.terms(group) }),
    };
  },
  merge: (a, b) => ({ count: a.count + b.count, terms: mergeTerms(a.terms, b.terms) }),
  write({ count, terms }, out) {
    out.count(count);
    writeTerms(terms, out);
  },
  read: (from) => ({ count: from.count(), terms: readTerms(from) }),
});

/** The exact sums of squares: of ordinary numbers; of huge ones · 2^-600; of tiny ones · 2^600. */
export type Squares = readonly [ordinary: Terms, huge: Terms, tiny: Terms];

/** Between these limits a double can hold both a square and its rounding error. */
const ordinaryMin = 2 ** -480;
const ordinaryMax = 2 ** 480;
const scalePower = 600;
const down = 2 ** -scalePower;
const up = 2 ** scalePower;

/** Multiplying by this splits a double into two halves of 26 bits (Dekker 1971, as is the product below). */
const splitter = 2 ** 27 + 1;

export const squaresMeasure = (column: string): Measure<Squares> => ({
  start(columns, meter) {
    const numbers = columns.numbers(column);
    const ordinary = new ExactSums(meter);
    const huge = new ExactSums(meter);
    const tiny = new ExactSums(meter);
    return {
      add(selection, groups) {
        for (const sums of [ordinary, huge, tiny]) sums.reserve(groups);
        const { count, group } = selection;
        const values = numbers.of(selection);
        for (let i = 0; i < count; i++) {
          const value = values[i] as number;
          if (value === 0 || Number.isNaN(value)) continue;
          const of = group[i] as number;
          const size = Math.abs(value);
          const sums = size > ordinaryMax ? huge : size < ordinaryMin ? tiny : ordinary;
          const x = sums === ordinary ? size : size * (sums === huge ? down : up);
          const scaled = x * splitter;
          const upper = scaled - (scaled - x);
          const lower = x - upper;
          const square = x * x;
          sums.add(of, square);
          sums.add(of, upper * upper - square + 2 * upper * lower + lower * lower);
        }
      },
      state: (group) => [ordinary.terms(group), huge.terms(group), tiny.terms(group)],
    };
  },
  merge: (a, b) => [mergeTerms(a[0], b[0]), mergeTerms(a[1], b[1]), mergeTerms(a[2], b[2])],
  write(squares, out) {
    for (const terms of squares) writeTerms(terms, out);
  },
  read: (from) => [readTerms(from), readTerms(from), readTerms(from)],
});

/** The exact sum, correctly rounded; null without numbers, as in SQL. Infinite beyond the range of doubles. */
export function sumOf({ count, terms }: Sum): number | null {
  if (count === 0) return null;
  const [rounded = 0] = terms;
  return Math.abs(rounded) < Number.MAX_VALUE ? rounded : nearestRatio(wholeOf(terms), 1n, wholeExponent);
}

/** The exact mean, correctly rounded. */
export const meanOf = ({ count, terms }: Sum): number | null =>
  count === 0 ? null : nearestRatio(wholeOf(terms), BigInt(count), wholeExponent);

/** The exact variance of a sample (divided by n - 1), correctly rounded; null for fewer than two numbers. */
export const varianceOf = (sum: Sum, squares: Squares): number | null =>
  ofVariance(sum, squares, nearestRatio);

/** The root of the exact variance, correctly rounded, also where the variance itself is beyond the doubles. */
export const deviationOf = (sum: Sum, squares: Squares): number | null =>
  ofVariance(sum, squares, nearestRoot);

function ofVariance(
  { count, terms }: Sum,
  [ordinary, huge, tiny]: Squares,
  nearest: typeof nearestRatio,
): number | null {
  if (count < 2) return null;
  const n = BigInt(count);
  const sum = wholeOf(terms);
  // In units of 2^-2148, the square of the sum's.
  const squares =
    (wholeOf(ordinary) << squareBits) +
    (wholeOf(huge) << (squareBits + scaleBits)) +
    ((wholeOf(tiny) << squareBits) >> scaleBits);
  return nearest(n * squares - sum * sum, n * (n - 1n), 2 * wholeExponent);
}

const wholeExponent = -1074;
const squareBits = BigInt(-wholeExponent);
const scaleBits = BigInt(2 * scalePower);

function writeTerms(terms: Terms, out: Writer): void {
  out.count(terms.length);
  for (const term of terms) out.number(term);
}

function readTerms(from: Reader): Terms {
  return Array.from({ length: from.count() }, () => from.number());
}
