import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import type { Field } from "../records.ts";
import { detached, type Measure } from "./measure.ts";

/** A quarter of what a map takes in memory, and one of its entries with a short text. */
const mapBytes = 75;
const entryBytes = 24;

/** Each value of a column and how often it came, in the order of `rawOrder`. */
export type Values = readonly ValueCount[];
export interface ValueCount {
  readonly value: Field;
  readonly count: number;
}

/**
 * Counts every value, since an answer that depends on the cut (as that of Space-Saving does) is of no use here. More
 * than 10,000 different values in one group are refused: `too-many-values`.
 */
export const topMeasure = (column: string): Measure<Values> => ({
  start(columns, meter) {
    const index = columns.place(column);
    const known: Map<Field, number>[] = [];
    return {
      add({ rows, count, place, group }) {
        for (let i = 0; i < count; i++) {
          const field = rows[place[i] as number]?.[index] as Field;
          if (field === null) continue;
          const of = group[i] as number;
          let values = known[of];
          if (values === undefined) {
            meter(mapBytes);
            values = new Map();
            known[of] = values;
          }
          const before = values.get(field);
          if (before !== undefined) {
            values.set(field, before + 1);
            continue;
          }
          const value = typeof field === "string" ? detached(field) : field;
          values.set(value, (values.get(value) ?? 0) + 1);
          checkSize(column, values.size);
          meter(entryBytes + (typeof value === "string" ? value.length : 0));
        }
      },
      state: (group) =>
        [...(known[group] ?? [])].map(([value, count]) => ({ value, count })).sort(byRawOrder),
    };
  },
  merge(a, b) {
    const all: ValueCount[] = [];
    for (let i = 0, j = 0; i < a.length || j < b.length; ) {
      const [left, right] = [a[i], b[j]];
      const order = left === undefined ? 1 : right === undefined ? -1 : byRawOrder(left, right);
      const { value } = (order <= 0 ? left : right) as ValueCount;
      const count = (order <= 0 ? (left?.count ?? 0) : 0) + (order >= 0 ? (right?.count ?? 0) : 0);
      if (order <= 0) i++;
      if (order >= 0) j++;
      all.push({ value, count });
    }
    checkSize(column, all.length);
    return all;
  },
  write(values, out) {
    out.count(values.length);
    for (const { value, count } of values) {
      out.field(value);
      out.count(count);
    }
  },
  read(from) {
    const values: ValueCount[] = [];
    for (let left = from.count(); left > 0; left--) values.push({ value: from.field(), count: from.count() });
    return values;
  },
});

function checkSize(column: string, size: number): void {
  if (size <= aggregateLimits.topValuesMax) return;
  throw new CalculationError(
    "too-many-values",
    `top(${column}) met more than ${aggregateLimits.topValuesMax} different values in one group (topValuesMax); ` +
      `use distinct(${column}), or group by ${column}`,
  );
}

/** Any order that is the same everywhere. */
function byRawOrder({ value: a }: ValueCount, { value: b }: ValueCount): number {
  if (typeof a !== typeof b) return typeof a < typeof b ? -1 : 1;
  return a === b ? 0 : (a as string) < (b as string) ? -1 : 1;
}
