import type { JsonValue } from "../contract.ts";
import { distinctMeasure } from "./measures/distinctMeasure.ts";
import { numberExtreme, textExtreme } from "./measures/extremeMeasure.ts";
import { estimate } from "./measures/hyperLogLog.ts";
import type { Measure } from "./measures/measure.ts";
import { quantileMeasure, quantileOf, type Share } from "./measures/quantileMeasure.ts";
import { countMeasure, meanOf, squaresMeasure, sumMeasure, sumOf, varianceOf } from "./measures/sums.ts";
import { topMeasure, type Values } from "./measures/topMeasure.ts";
import { compareFields, placed } from "./result/fieldOrder.ts";

/** What is known of an aggregate by its name. */
export interface AggregateFunction {
  readonly column: "needed" | "optional";
  /** What stands after the column. */
  readonly argument?: "share" | "whole";
  /** States that its answer is made from; `keep` gives the same measure to all aggregates that need it. */
  plan(keep: Keep, column: string, argument: Argument): Answer;
}

/** Keeps a measure under a name and gives a getter of its state. */
export type Keep = <State>(
  name: string,
  measure: () => Measure<State>,
) => (states: readonly unknown[]) => State;
export type Answer = (states: readonly unknown[]) => JsonValue;
export interface Argument {
  readonly share: Share;
  readonly whole: number;
}

const sum = (keep: Keep, column: string) => keep(`sum ${column}`, () => sumMeasure(column));
const squares = (keep: Keep, column: string) => keep(`squares ${column}`, () => squaresMeasure(column));

const quantile: AggregateFunction = {
  column: "needed",
  argument: "share",
  plan(keep, column, { share }) {
    const sketch = keep(`sketch ${column}`, () => quantileMeasure(column));
    return (states) => quantileOf(sketch(states), share);
  },
};

const extreme = (which: "min" | "max", of: typeof numberExtreme | typeof textExtreme): AggregateFunction => ({
  column: "needed",
  plan: (keep, column) =>
    keep<number | string | null>(`${of.name} ${which} ${column}`, () => of(column, which) as never),
});

export const aggregateFunctions: Readonly<Record<string, AggregateFunction>> = {
  count: {
    column: "optional",
    plan: (keep, column) =>
      column === ""
        ? keep("rows", () => countMeasure())
        : keep(`count ${column}`, () => countMeasure(column)),
  },
  sum: {
    column: "needed",
    plan(keep, column) {
      const of = sum(keep, column);
      return (states) => sumOf(of(states));
    },
  },
  min: extreme("min", numberExtreme),
  max: extreme("max", numberExtreme),
  mintext: extreme("min", textExtreme),
  maxtext: extreme("max", textExtreme),
  mean: {
    column: "needed",
    plan(keep, column) {
      const of = sum(keep, column);
      return (states) => meanOf(of(states));
    },
  },
  variance: {
    column: "needed",
    plan(keep, column) {
      const [of, squared] = [sum(keep, column), squares(keep, column)];
      return (states) => varianceOf(of(states), squared(states));
    },
  },
  stddev: {
    column: "needed",
    plan(keep, column) {
      const [of, squared] = [sum(keep, column), squares(keep, column)];
      return (states) => {
        const variance = varianceOf(of(states), squared(states));
        return variance === null ? null : Math.sqrt(variance);
      };
    },
  },
  distinct: {
    column: "needed",
    plan(keep, column) {
      const distinct = keep(`distinct ${column}`, () => distinctMeasure(column));
      return (states) => estimate(distinct(states));
    },
  },
  quantile,
  top: {
    column: "needed",
    argument: "whole",
    plan(keep, column, { whole }) {
      const values = keep(`values ${column}`, () => topMeasure(column));
      return (states) => topOf(values(states), whole);
    },
  },
};

/** The `k` most frequent values with their counts; of equally frequent ones those that come first in the order. */
export function topOf(values: Values, k: number): JsonValue {
  return values
    .map(({ value, count }) => ({ place: placed(value), count }))
    .sort((a, b) => b.count - a.count || compareFields(a.place, b.place))
    .slice(0, k)
    .map(({ place, count }) => ({ value: place.field, count }));
}
