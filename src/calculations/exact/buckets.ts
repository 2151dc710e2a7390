/**
 * Number of the bucket of `x`: its sign, its exponent and the first bits of its mantissa, 1 to 20. So with seven the lower border of
 * a bucket is less than 1/128 below every number in it, and whole numbers up to 256 have a bucket each. Bucket numbers rise
 * with their numbers, are 0 for zero, and need no logarithm, which machines could round differently.
 *
 * As in C. Masson, J. Rim, H. Lee, "DDSketch", VLDB 2019, with the linear mapping of HdrHistogram.
 */
export function bucketOf(x: number, bits: number): number {
  if (x === 0) return 0;
  double[0] = Math.abs(x);
  const bucket = ((words[high] as number) >>> (20 - bits)) + 1;
  return x > 0 ? bucket : -bucket;
}

/** The border of a bucket that is next to zero; zero for the bucket of numbers below 2^-1022 / 128. */
function borderOf(bucket: number, bits: number): number {
  if (bucket === 0) return 0;
  words[high] = (Math.abs(bucket) - 1) << (20 - bits);
  words[1 - high] = 0;
  return bucket > 0 ? (double[0] as number) : -(double[0] as number) + 0;
}

const double = Float64Array.of(1);
const words = new Uint32Array(double.buffer);
const high = words[1] === 0 ? 0 : 1;

/**
 * How many numbers lie in each bucket, and the smallest and largest number. Counts add up exactly and buckets are never
 * joined, so merging is associative to the bit; that of t-digest or KLL is not.
 */
export interface Sketch {
  readonly min: number;
  readonly max: number;
  /** By bucket, in rising order. */
  readonly counts: readonly { readonly value: number; readonly count: number }[];
}

/** A number from 0 to 1, exactly. */
export interface Share {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Decimal digits as an exact share, after the point has moved `shift` digits to the left. */
export function shareOf(text: string, shift: number): Share {
  const [whole = "", part = ""] = text.split(".");
  return { numerator: BigInt(`${whole}${part}`), denominator: 10n ** BigInt(part.length + shift) };
}

/**
 * The number of rank ⌈`numerator` · n / `denominator`⌉ among n, at least the first: it is nearer to zero than the true one
 * by less than a bucket, and always between the smallest and the largest number. Null without numbers.
 */
export function quantileOf(
  { min, max, counts }: Sketch,
  { numerator, denominator }: Share,
  bits: number,
): number | null {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const rank = Number((numerator * BigInt(total) + denominator - 1n) / denominator);
  if (rank === total) return max;
  let passed = 0;
  for (const { value: bucket, count } of counts) {
    passed += count;
    if (passed >= rank) return Math.min(max, Math.max(min, borderOf(bucket, bits)));
  }
  return max;
}
