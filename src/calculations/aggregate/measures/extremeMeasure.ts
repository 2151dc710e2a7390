import type { Field } from "../records.ts";
import { detached, grown, type Measure } from "./measure.ts";

/** The smallest or largest number; null where there is none. */
export const numberExtreme = (column: string, which: "min" | "max"): Measure<number | null> => {
  const worst = which === "min" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const better = which === "min" ? Math.min : Math.max;
  return {
    start(columns) {
      const numbers = columns.numbers(column);
      let best = new Float64Array(0);
      return {
        add({ count, place, group }, groups) {
          best = grown(best, groups, worst);
          for (let i = 0; i < count; i++) {
            const x = numbers.at(place[i] as number);
            if (Number.isNaN(x)) continue;
            const of = group[i] as number;
            best[of] = better(best[of] as number, x);
          }
        },
        state: (group) => (best[group] === worst ? null : (best[group] as number)),
      };
    },
    merge: (a, b) => (a === null ? b : b === null ? a : better(a, b)),
    write: (best, out) => out.field(best),
    read: (from) => from.field() as number | null,
  };
};

/** The text that comes first or last in the order of UTF-16 code units, in which dates like 2024-01-31 are in order. */
export const textExtreme = (column: string, which: "min" | "max"): Measure<string | null> => {
  const better = (a: string, b: string): boolean => (which === "min" ? a < b : a > b);
  return {
    start(columns, meter) {
      const index = columns.place(column);
      const best: (string | undefined)[] = [];
      return {
        add({ rows, count, place, group }) {
          for (let i = 0; i < count; i++) {
            const field = rows[place[i] as number]?.[index] as Field;
            if (field === null) continue;
            const text = String(field).toWellFormed();
            const of = group[i] as number;
            const known = best[of];
            if (known !== undefined && !better(text, known)) continue;
            meter(known === undefined ? text.length + 24 : Math.max(0, text.length - known.length));
            best[of] = detached(text);
          }
        },
        state: (group) => best[group] ?? null,
      };
    },
    merge: (a, b) => (a === null ? b : b === null ? a : better(b, a) ? b : a),
    write: (best, out) => out.field(best),
    read: (from) => from.field() as string | null,
  };
};
