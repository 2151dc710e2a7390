import {
  type Count,
  countsOf,
  eachNumber,
  type Measure,
  type Meter,
  mergeCounts,
  sortedCounts,
} from "./measure.ts";

/**
 * Number of the bucket of `x`: its sign, its exponent and the first seven bits of its mantissa. So the lower border of a
 * bucket is less than 1/128 below every number in it, and whole numbers up to 256 have a bucket each. Bucket numbers rise
 * with their numbers, are 0 for zero, and need no logarithm, which machines could round differently.
 *
 * As in C. Masson, J. Rim, H. Lee, "DDSketch", VLDB 2019, with the linear mapping of HdrHistogram.
 */
export function bucketOf(x: number): number {
  if (x === 0) return 0;
  double[0] = Math.abs(x);
  const bucket = ((words[high] as number) >>> dropped) + 1;
  return x > 0 ? bucket : -bucket;
}

/** The border of a bucket that is next to zero; zero for the bucket of numbers below 2^-1022 / 128. */
export function borderOf(bucket: number): number {
  if (bucket === 0) return 0;
  words[high] = (Math.abs(bucket) - 1) << dropped;
  words[1 - high] = 0;
  return bucket > 0 ? (double[0] as number) : -(double[0] as number) + 0;
}

/** Mantissa bits in the upper word of a double that no bucket distinguishes. */
const dropped = 20 - 7;
const double = Float64Array.of(1);
const words = new Uint32Array(double.buffer);
const high = words[1] === 0 ? 0 : 1;

/**
 * How many numbers lie in each bucket, and the smallest and largest number. Counts add up exactly and buckets are never
 * joined, so merging is associative to the bit; that of t-digest or KLL is not.
 */
interface Sketch {
  readonly min: number;
  readonly max: number;
  /** By bucket, in rising order. */
  readonly counts: readonly Count<number>[];
}

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

/** A number from 0 to 1, exactly. */
export interface Share {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * The number of rank ⌈`numerator` · n / `denominator`⌉ among n, at least the first: it is less than 1/128 nearer to zero
 * than the true one, and always between the smallest and the largest number. Null without numbers.
 */
export function quantileOf({ min, max, counts }: Sketch, { numerator, denominator }: Share): number | null {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const rank = Number((numerator * BigInt(total) + denominator - 1n) / denominator);
  if (rank === total) return max;
  let passed = 0;
  for (const { value: bucket, count } of counts) {
    passed += count;
    if (passed >= rank) return Math.min(max, Math.max(min, borderOf(bucket)));
  }
  return max;
}
