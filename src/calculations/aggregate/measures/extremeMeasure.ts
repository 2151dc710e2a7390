import { detached, eachField, grown, type Measure } from "./measure.ts";

type Which = "min" | "max";

/** The smallest or largest number; null where there is none. */
export const numberExtreme = (column: string, which: Which): Measure<number | null> => {
  const worst = which === "min" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const better = which === "min" ? Math.min : Math.max;
  return {
    start(columns) {
      const numbers = columns.numbers(column);
      let best = new Float64Array(0);
      return {
        add(selection, groups) {
          best = grown(best, groups, worst);
          const { count, group } = selection;
          const values = numbers.of(selection);
          for (let i = 0; i < count; i++) {
            const x = values[i] as number;
            const of = group[i] as number;
            if (!Number.isNaN(x)) best[of] = better(best[of] as number, x);
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

/** The first or last text in the order of UTF-16 code units, in which dates like 2024-01-31 are in order. */
export const textExtreme = (column: string, which: Which): Measure<string | null> => {
  const better = (a: string, b: string): boolean => (which === "min" ? a < b : a > b);
  return {
    start(columns, meter) {
      const index = columns.indexOf(column);
      const best: (string | undefined)[] = [];
      return {
        add(selection) {
          eachField(selection, index, (field, group) => {
            const text = String(field).toWellFormed();
            const known = best[group];
            if (known !== undefined && !better(text, known)) return;
            meter(text.length - (known?.length ?? -24));
            best[group] = detached(text);
          });
        },
        state: (group) => best[group] ?? null,
      };
    },
    merge: (a, b) => (a === null ? b : b === null ? a : better(b, a) ? b : a),
    write: (best, out) => out.field(best),
    read: (from) => from.field() as string | null,
  };
};
