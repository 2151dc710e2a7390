import { exactSums } from "./exactSums.ts";
import { mergeTerms, type Terms } from "./exactTerms.ts";
import { grown, type Measure } from "./measure.ts";
import { readTerms, writeTerms } from "./termsCodec.ts";

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
