import type { Measure } from "./measure.ts";

/**
 * Buckets that halve each octave of the doubles seven times, so that the lower border of a bucket is less than 1/128
 * below every number in it: the sign, the exponent and the first seven bits of the mantissa. Whole numbers up to 256
 * have a bucket each. The number of a bucket rises with its numbers, is 0 for zero, and needs no logarithm, which
 * machines could round differently.
 *
 * As in C. Masson, J. Rim, H. Lee, "DDSketch", VLDB 2019, with the linear mapping that HdrHistogram has.
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

/** Of the 20 bits of a mantissa that the upper word of a double has. */
const dropped = 20 - 7;
const double = Float64Array.of(1);
const words = new Uint32Array(double.buffer);
const high = words[1] === 0 ? 0 : 1;

/**
 * How many numbers lie in each bucket of `logBuckets.ts`, and the smallest and largest number. Counts add up exactly,
 * and no buckets are ever joined, so merging is associative to the bit; that of t-digest or KLL is not.
 */
export interface Sketch {
  readonly min: number;
  readonly max: number;
  /** In rising order. */
  readonly buckets: readonly number[];
  readonly counts: readonly number[];
}

const empty: Sketch = {
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
  buckets: [],
  counts: [],
};

/** A quarter of what a map and one of its entries take in memory. */
const mapBytes = 75;
const entryBytes = 10;

export const quantileMeasure = (column: string): Measure<Sketch> => ({
  start(columns, meter) {
    const numbers = columns.numbers(column);
    const sketches: Map<number, number>[] = [];
    const min: number[] = [];
    const max: number[] = [];
    return {
      add({ count, place, group }) {
        for (let i = 0; i < count; i++) {
          const x = numbers.at(place[i] as number);
          if (Number.isNaN(x)) continue;
          const of = group[i] as number;
          let sketch = sketches[of];
          if (sketch === undefined) {
            meter(mapBytes);
            sketch = new Map();
            sketches[of] = sketch;
            min[of] = x;
            max[of] = x;
          }
          if (x < (min[of] as number)) min[of] = x;
          if (x > (max[of] as number)) max[of] = x;
          const bucket = bucketOf(x);
          const known = sketch.get(bucket);
          if (known === undefined) meter(entryBytes);
          sketch.set(bucket, (known ?? 0) + 1);
        }
      },
      state(group) {
        const sketch = sketches[group];
        if (sketch === undefined) return empty;
        const buckets = [...sketch.keys()].sort((a, b) => a - b);
        const counts = buckets.map((bucket) => sketch.get(bucket) as number);
        return { min: min[group] as number, max: max[group] as number, buckets, counts };
      },
    };
  },
  merge: mergeSketches,
  write({ min, max, buckets, counts }, out) {
    out.count(buckets.length);
    if (buckets.length === 0) return;
    out.number(min);
    out.number(max);
    let before = -bucketMax;
    for (const [at, bucket] of buckets.entries()) {
      out.count(bucket - before);
      out.count(counts[at] as number);
      before = bucket;
    }
  },
  read(from) {
    const length = from.count();
    if (length === 0) return empty;
    const [min, max] = [from.number(), from.number()];
    const buckets: number[] = [];
    const counts: number[] = [];
    for (let before = -bucketMax; buckets.length < length; ) {
      before += from.count();
      buckets.push(before);
      counts.push(from.count());
    }
    return { min, max, buckets, counts };
  },
});

const bucketMax = bucketOf(Number.MAX_VALUE);

function mergeSketches(a: Sketch, b: Sketch): Sketch {
  const buckets: number[] = [];
  const counts: number[] = [];
  for (let i = 0, j = 0; i < a.buckets.length || j < b.buckets.length; ) {
    const left = a.buckets[i] ?? Number.POSITIVE_INFINITY;
    const right = b.buckets[j] ?? Number.POSITIVE_INFINITY;
    let count = 0;
    if (left <= right) count += a.counts[i++] as number;
    if (right <= left) count += b.counts[j++] as number;
    buckets.push(Math.min(left, right));
    counts.push(count);
  }
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max), buckets, counts };
}

/**
 * The number of rank ⌈`numerator` · n / `denominator`⌉ among n, at least the first: it is less than 1/128 nearer to zero
 * than the true one, and never beyond the smallest and largest number. Null of no numbers.
 */
export function quantileOf({ min, max, buckets, counts }: Sketch, share: Share): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const { numerator, denominator } = share;
  const exact = numerator * BigInt(total);
  const rank = Number((exact + denominator - 1n) / denominator);
  if (rank === total) return max;
  let passed = 0;
  for (const [at, count] of counts.entries()) {
    passed += count;
    if (passed >= rank) return Math.min(max, Math.max(min, borderOf(buckets[at] as number)));
  }
  return max;
}

/** A number from 0 to 1, exactly. */
export interface Share {
  readonly numerator: bigint;
  readonly denominator: bigint;
}
