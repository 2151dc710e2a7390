import { dyadicOf, sumOf } from "../../exact/dyadic.ts";
import { type ExactSum, exactSum } from "../../exact/exactSum.ts";
import { grown, type Meter } from "./measure.ts";

/**
 * An exact sum as few doubles, in canonical form: each term is what the terms before it lack of the sum, correctly
 * rounded. Money in cents needs two terms, however many numbers are added.
 */
export type Terms = readonly number[];

/** What `sum`, the rounded `a` + `b`, lacks of the exact sum (Knuth). NaN or infinite where it overflows. */
function additionError(a: number, b: number, sum: number): number {
  const added = sum - a;
  return a - (sum - added) + (b - added);
}

/** The terms of `high` + `low` + `rest`; consumes `rest`. */
function termsOf(high: number, low: number, rest?: ExactSum): Terms {
  if (rest === undefined) {
    const sum = high + low;
    const error = additionError(high, low, sum);
    if (Number.isFinite(error)) return sum === 0 ? [] : error === 0 ? [sum] : [sum, error];
  }
  const exact = rest ?? exactSum();
  exact.add(high);
  exact.add(low);
  const terms: number[] = [];
  for (;;) {
    const value = exact.value();
    if (value === 0) return terms;
    const term = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
    terms.push(term);
    exact.add(-term);
  }
}

export function mergeTerms(a: Terms, b: Terms): Terms {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const [highA = 0, lowA = 0, moreA] = a;
  const [highB = 0, lowB = 0, moreB] = b;
  const high = highA + highB;
  const error = additionError(highA, highB, high);
  const low = lowA + lowB;
  const both = error + low;
  const left = additionError(lowA, lowB, low) + additionError(error, low, both);
  if (moreA === undefined && moreB === undefined && left === 0) return termsOf(high, both);
  const all = exactSum();
  for (const term of [...a, ...b]) all.add(term);
  return termsOf(0, 0, all);
}

/** The sum as a whole number of 2^-1074, in which every double is whole. */
export function wholeOf(terms: Terms): bigint {
  const { mantissa, exponent } = sumOf(terms.map(dyadicOf));
  return mantissa << BigInt(exponent + 1074);
}

/** About what an `ExactSum` takes in memory, which is more than it takes in a partial. */
const exactSumBytes = 400;

/**
 * Keeps two doubles for each group: the sum so far and its error. Two error-free additions per number keep both exact for
 * usual data. An error of the error goes to an `ExactSum`, which is created when needed.
 */
export class ExactSums {
  readonly #meter: Meter;
  #high = new Float64Array(0);
  #low = new Float64Array(0);
  readonly #rest = new Map<number, ExactSum>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  reserve(groups: number): void {
    this.#high = grown(this.#high, groups);
    this.#low = grown(this.#low, groups);
  }

  /** `x` is finite. */
  add(group: number, x: number): void {
    const before = this.#high[group] as number;
    const sum = before + x;
    const error = additionError(before, x, sum);
    if (error === 0) {
      this.#high[group] = sum;
      return;
    }
    if (error - error !== 0) {
      this.#addRest(group, x);
      return;
    }
    this.#high[group] = sum;
    const lowBefore = this.#low[group] as number;
    const lowSum = lowBefore + error;
    this.#low[group] = lowSum;
    const lowError = additionError(lowBefore, error, lowSum);
    if (lowError !== 0) this.#addRest(group, lowError);
  }

  /** To be called once for a group: it consumes the group's `ExactSum`. */
  terms(group: number): Terms {
    return termsOf(this.#high[group] as number, this.#low[group] as number, this.#rest.get(group));
  }

  #addRest(group: number, x: number): void {
    let exact = this.#rest.get(group);
    if (exact === undefined) {
      this.#meter(exactSumBytes);
      exact = exactSum();
      this.#rest.set(group, exact);
    }
    exact.add(x);
  }
}
