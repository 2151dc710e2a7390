import { exactSums } from "./exactSums.ts";
import { mergeTerms, type Terms } from "./exactTerms.ts";
import type { Measure } from "./measure.ts";
import { readTerms, writeTerms } from "./termsCodec.ts";

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
