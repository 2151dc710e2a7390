import { type ExactSum, exactSum } from "../../exact/exactSum.ts";
import { additionError, type Terms, termsOf } from "./exactTerms.ts";
import { grown, type Meter } from "./measure.ts";

/** Exact sums of many groups. */
export interface ExactSums {
  reserve(groups: number): void;
  /** `x` is finite. */
  add(group: number, x: number): void;
  terms(group: number): Terms;
}

/** About what an `ExactSum` takes, in memory more than in a partial. */
const exactSumBytes = 400;

/**
 * Two doubles for each group: the sum and its error so far. Two error-free additions a number keep both exact for what
 * people usually sum. Where the error itself would have an error, that goes to an `ExactSum`, made when it is needed.
 */
export function exactSums(meter: Meter): ExactSums {
  let high = new Float64Array(0);
  let low = new Float64Array(0);
  const rest = new Map<number, ExactSum>();
  const addRest = (group: number, x: number): void => {
    let exact = rest.get(group);
    if (exact === undefined) {
      meter(exactSumBytes);
      exact = exactSum();
      rest.set(group, exact);
    }
    exact.add(x);
  };
  return {
    reserve(groups) {
      high = grown(high, groups);
      low = grown(low, groups);
    },
    add(group, x) {
      const before = high[group] as number;
      const sum = before + x;
      const error = additionError(before, x, sum);
      if (error === 0) {
        high[group] = sum;
        return;
      }
      if (error - error !== 0) return addRest(group, x);
      high[group] = sum;
      const lowBefore = low[group] as number;
      const lowSum = lowBefore + error;
      low[group] = lowSum;
      const lowError = additionError(lowBefore, error, lowSum);
      if (lowError !== 0) addRest(group, lowError);
    },
    /** Of one group only once: what is beside its two doubles is used up. */
    terms: (group) => termsOf(high[group] as number, low[group] as number, rest.get(group)),
  };
}
