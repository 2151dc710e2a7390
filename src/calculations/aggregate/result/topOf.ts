import type { JsonValue } from "../../contract.ts";
import type { Values } from "../measures/topMeasure.ts";
import { compareFields, placed } from "./fieldOrder.ts";

/** The `k` most frequent values with their counts; of equally frequent ones those that come first in the order. */
export function topOf(values: Values, k: number): JsonValue {
  return values
    .map(({ value, count }) => ({ place: placed(value), count }))
    .sort((a, b) => b.count - a.count || compareFields(a.place, b.place))
    .slice(0, k)
    .map(({ place, count }) => ({ value: place.field, count }));
}
