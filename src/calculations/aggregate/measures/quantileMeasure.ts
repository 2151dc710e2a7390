import { bucketOf, type Sketch } from "../../exact/buckets.ts";
import { countsOf, eachNumber, type Measure, type Meter, mergeCounts, sortedCounts } from "./measure.ts";

const empty: Sketch = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY, counts: [] };

/** A quarter of what an entry of a map takes in memory. */
const entryBytes = 10;

export const quantileMeasure = (column: string): Measure<Sketch> => ({
  start(columns, meter: Meter) {
    const numbers = columns.numbers(column);
    const groups: Map<number, number>[] = [];
    const min: number[] = [];
    const max: number[] = [];
    return {
      add(selection) {
        eachNumber(selection, numbers, (x, group) => {
          const counts = countsOf(groups, group, meter);
          min[group] = Math.min(min[group] ?? x, x);
          max[group] = Math.max(max[group] ?? x, x);
          const bucket = bucketOf(x);
          const known = counts.get(bucket);
          if (known === undefined) meter(entryBytes);
          counts.set(bucket, (known ?? 0) + 1);
        });
      },
      state: (group) =>
        groups[group] === undefined
          ? empty
          : {
              min: min[group] as number,
              max: max[group] as number,
              counts: sortedCounts(groups[group], rising),
            },
    };
  },
  merge: (a, b) => ({
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    counts: mergeCounts(a.counts, b.counts, rising),
  }),
  write({ min, max, counts }, out) {
    out.count(counts.length);
    if (counts.length === 0) return;
    out.number(min);
    out.number(max);
    let before = -bucketMax;
    for (const { value: bucket, count } of counts) {
      out.count(bucket - before);
      out.count(count);
      before = bucket;
    }
  },
  read(from) {
    const length = from.count();
    if (length === 0) return empty;
    const [min, max] = [from.number(), from.number()];
    let bucket = -bucketMax;
    const counts = Array.from({ length }, () => {
      bucket += from.count();
      return { value: bucket, count: from.count() };
    });
    return { min, max, counts };
  },
});

const bucketMax = bucketOf(Number.MAX_VALUE);
const rising = (a: number, b: number): number => a - b;
