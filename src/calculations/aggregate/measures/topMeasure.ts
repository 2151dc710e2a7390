import { CalculationError } from "../../../model/errors.ts";
import type { JsonValue } from "../../contract.ts";
import { compareFields, sortable } from "../fields.ts";
import { aggregateLimits } from "../limits.ts";
import type { Field } from "../records.ts";
import { type Count, detached, eachField, type Measure, mergeCounts } from "./measure.ts";

/** Each value of a column and how often it came, in the order of `rawOrder`. */
type Values = readonly Count<Field>[];

/** A quarter of what a map takes in memory, and an entry of it with a short text. */
const mapBytes = 75;
const entryBytes = 24;

/**
 * Counts every value, since an approximation (such as Space-Saving) would depend on how the files were cut. Refuses more
 * than 10,000 different values in one group: `too-many-values`.
 */
export const topMeasure = (column: string): Measure<Values> => ({
  start(columns, meter) {
    const index = columns.indexOf(column);
    const groups: Map<Field, number>[] = [];
    return {
      add(selection) {
        eachField(selection, index, (field, group) => {
          const counts = groups[group] ?? new Map<Field, number>();
          if (groups[group] === undefined) meter(mapBytes);
          groups[group] = counts;
          const before = counts.get(field);
          if (before !== undefined) {
            counts.set(field, before + 1);
            return;
          }
          const value = typeof field === "string" ? detached(field) : field;
          counts.set(value, (counts.get(value) ?? 0) + 1);
          checkSize(column, counts.size);
          meter(entryBytes + (typeof value === "string" ? value.length : 0));
        });
      },
      state(group) {
        const counts = [...(groups[group] ?? [])].map(([value, count]) => ({ value, count }));
        return counts.sort((a, b) => rawOrder(a.value, b.value));
      },
    };
  },
  merge(a, b) {
    const values = mergeCounts(a, b, rawOrder);
    checkSize(column, values.length);
    return values;
  },
  write(values, out) {
    out.count(values.length);
    for (const { value, count } of values) {
      out.field(value);
      out.count(count);
    }
  },
  read: (from) => Array.from({ length: from.count() }, () => ({ value: from.field(), count: from.count() })),
});

function checkSize(column: string, size: number): void {
  if (size <= aggregateLimits.topValuesMax) return;
  throw new CalculationError(
    "too-many-values",
    `top(${column}): a group has more than ${aggregateLimits.topValuesMax} different values (topValuesMax); ` +
      `use distinct(${column}), or group by ${column}`,
  );
}

/** Any order that is the same everywhere. */
function rawOrder(a: Field, b: Field): number {
  if (typeof a !== typeof b) return typeof a < typeof b ? -1 : 1;
  return a === b ? 0 : (a as string) < (b as string) ? -1 : 1;
}

/** The `k` most frequent values with their counts; equally frequent ones in the order of fields. */
export const topOf = (values: Values, k: number): JsonValue =>
  values
    .map(({ value, count }) => ({ key: sortable(value), count }))
    .sort((a, b) => b.count - a.count || compareFields(a.key, b.key))
    .slice(0, k)
    .map(({ key, count }) => ({ value: key.field, count }));
