import type { Reader, Writer } from "../partial/bytes.ts";
import { exactSums, mergeTerms, nearestRatio, type Terms, wholeOf } from "./exactTerms.ts";
import { grown, type Measure } from "./measure.ts";

/** Rows, or those where `column` is not empty. */
export const countMeasure = (column?: string): Measure<number> => ({
  start(columns) {
    const place = column === undefined ? -1 : columns.place(column);
    let counts = new Float64Array(0);
    return {
      add({ rows, count, place: places, group }, groups) {
        counts = grown(counts, groups);
        for (let i = 0; i < count; i++) {
          if (place >= 0 && rows[places[i] as number]?.[place] === null) continue;
          const of = group[i] as number;
          counts[of] = (counts[of] as number) + 1;
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
export interface Sum {
  readonly count: number;
  readonly terms: Terms;
}

export const sumMeasure = (column: string): Measure<Sum> => ({
  start(columns, meter) {
    const numbers = columns.numbers(column);
    const sums = exactSums(meter);
    let counts = new Float64Array(0);
    return {
      add({ count, place, group }, groups) {
        counts = grown(counts, groups);
        sums.reserve(groups);
        for (let i = 0; i < count; i++) {
          const x = numbers.at(place[i] as number);
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

/** The exact sum of squares: of ordinary numbers; of huge ones · 2^-600; of tiny ones · 2^600. */
export interface Squares {
  readonly ordinary: Terms;
  readonly huge: Terms;
  readonly tiny: Terms;
}

/** Between these a square and its error are neither too large nor too small for a double. */
const ordinaryMin = 2 ** -480;
const ordinaryMax = 2 ** 480;
export const scalePower = 600;
const down = 2 ** -scalePower;
const up = 2 ** scalePower;

/** Multiplying by it splits a double into two halves of 26 bits: Dekker 1971, as is the product below. */
const splitter = 2 ** 27 + 1;

export const squaresMeasure = (column: string): Measure<Squares> => ({
  start(columns, meter) {
    const numbers = columns.numbers(column);
    const ordinary = exactSums(meter);
    const huge = exactSums(meter);
    const tiny = exactSums(meter);
    return {
      add({ count, place, group }, groups) {
        for (const sums of [ordinary, huge, tiny]) sums.reserve(groups);
        for (let i = 0; i < count; i++) {
          const value = numbers.at(place[i] as number);
          if (Number.isNaN(value) || value === 0) continue;
          const size = Math.abs(value);
          const sums = size > ordinaryMax ? huge : size < ordinaryMin ? tiny : ordinary;
          const x = sums === ordinary ? size : size * (sums === huge ? down : up);
          const scaled = x * splitter;
          const upper = scaled - (scaled - x);
          const lower = x - upper;
          const square = x * x;
          const of = group[i] as number;
          sums.add(of, square);
          sums.add(of, upper * upper - square + 2 * upper * lower + lower * lower);
        }
      },
      state: (group) => ({
        ordinary: ordinary.terms(group),
        huge: huge.terms(group),
        tiny: tiny.terms(group),
      }),
    };
  },
  merge: (a, b) => ({
    ordinary: mergeTerms(a.ordinary, b.ordinary),
    huge: mergeTerms(a.huge, b.huge),
    tiny: mergeTerms(a.tiny, b.tiny),
  }),
  write({ ordinary, huge, tiny }, out) {
    for (const terms of [ordinary, huge, tiny]) writeTerms(terms, out);
  },
  read: (from) => ({ ordinary: readTerms(from), huge: readTerms(from), tiny: readTerms(from) }),
});

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

export function writeTerms(terms: Terms, out: Writer): void {
  out.count(terms.length);
  for (const term of terms) out.number(term);
}

export function readTerms(from: Reader): Terms {
  const terms: number[] = [];
  for (let left = from.count(); left > 0; left--) terms.push(from.number());
  return terms;
}
