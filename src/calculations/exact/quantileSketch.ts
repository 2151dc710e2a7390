import { CalculationError } from "../../engine/model/errors.ts";
import { bucketOf, quantileOf, type Sketch, shareOf } from "./buckets.ts";

/**
 * Counts of numbers by bucket, which answer any quantile within a chosen relative error. Merging adds counts, so the answer
 * has the same bits in any order and grouping; that of t-digest or KLL has not. It grows with the range of the numbers and
 * not with how many there are: at an error of 0.01 by at most 128 buckets for each doubling of their size.
 */
export interface QuantileSketch {
  /** How many numbers were added. */
  readonly count: number;
  /** Throws `CalculationError` for NaN and infinities. */
  add(x: number): void;
  /** Throws `CalculationError` if the other one was made for another error. */
  merge(other: QuantileSketch): void;
  /**
   * The number of rank ⌈q · count⌉ in rising order, for q from 0 to 1 as its decimal digits say: less than the error
   * nearer to zero than the true one, and never beyond the smallest or the largest. Null without numbers.
   */
  quantile(q: number): number | null;
  /** Canonical: equal counts give equal text, however they were reached. */
  encode(): string;
}

/** Finer buckets than these would need the lower half of a double. */
const errorMin = 2 ** -20;

/**
 * An empty sketch with a relative error from 10⁻⁶ to 0.5, or the one that was encoded. The error is rounded down to a
 * power of two. Throws `CalculationError` for any other error, and for a text of another error or none.
 */
export function quantileSketch(error: number, encoded?: string): QuantileSketch {
  if (!(error >= errorMin && error <= 0.5))
    throw new CalculationError(
      "bad-sketch",
      `the error of a sketch is from 0.000001 to 0.5, and not ${error}`,
    );
  let bits = 1;
  while (2 ** -bits > error) bits++;
  const sketch = new BucketSketch(bits);
  if (encoded !== undefined) sketch.addEncoded(encoded);
  return sketch;
}

class BucketSketch implements QuantileSketch {
  count = 0;
  readonly #bits: number;
  readonly #counts = new Map<number, number>();
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  constructor(bits: number) {
    this.#bits = bits;
  }

  add(x: number): void {
    if (!Number.isFinite(x))
      throw new CalculationError("bad-number", `a sketch takes finite numbers, and not ${x}`);
    this.#addMany(bucketOf(x, this.#bits), 1);
    this.#widen(x, x);
  }

  merge(other: QuantileSketch): void {
    const from = other as BucketSketch;
    if (from.#bits !== this.#bits)
      throw new CalculationError("bad-sketch", "sketches with different errors cannot be merged");
    // A copy, as the other one may be this one.
    for (const [bucket, count] of [...from.#counts]) this.#addMany(bucket, count);
    this.#widen(from.#min, from.#max);
  }

  quantile(q: number): number | null {
    if (!(q >= 0 && q <= 1))
      throw new CalculationError("bad-number", `a quantile is from 0 to 1, and not ${q}`);
    const [digits = "", power = "0"] = String(q).split("e-");
    return quantileOf(this.#sorted(), shareOf(digits, Number(power)), this.#bits);
  }

  /** JSON: bits, smallest, largest, then pairs of bucket and count. */
  encode(): string {
    const { min, max, counts } = this.#sorted();
    const pairs = counts.flatMap(({ value, count }) => [value, count]);
    return JSON.stringify(this.count === 0 ? [this.#bits] : [this.#bits, min, max, ...pairs]);
  }

  addEncoded(text: string): void {
    const numbers = numbersIn(text);
    const [bits, min, max, ...pairs] = numbers;
    const empty = numbers.length === 1;
    let before = Number.NEGATIVE_INFINITY;
    let sound = bits === this.#bits && (empty || (pairs.length > 0 && pairs.length % 2 === 0));
    for (let i = 0; sound && i < pairs.length; i += 2) {
      const [bucket, count] = [pairs[i] as number, pairs[i + 1] as number];
      sound = Number.isSafeInteger(bucket) && bucket > before && Number.isSafeInteger(count) && count > 0;
      before = bucket;
      this.#addMany(bucket, count);
    }
    if (!sound)
      throw new CalculationError("bad-sketch", `${text.slice(0, 40)} is not an encoded sketch of this error`);
    if (!empty) this.#widen(min as number, max as number);
  }

  #addMany(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    this.count += count;
  }

  /** Adding 0 makes a positive zero of a negative one, so that equal sketches have equal bytes. */
  #widen(min: number, max: number): void {
    this.#min = Math.min(this.#min, min + 0);
    this.#max = Math.max(this.#max, max + 0);
  }

  #sorted(): Sketch {
    const counts = [...this.#counts].sort(([a], [b]) => a - b).map(([value, count]) => ({ value, count }));
    return { min: this.#min, max: this.#max, counts };
  }
}

function numbersIn(text: string): readonly number[] {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) && found.every((one) => Number.isFinite(one)) ? found : [];
  } catch {
    return [];
  }
}
