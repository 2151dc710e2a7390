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
