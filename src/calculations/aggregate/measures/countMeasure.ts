import { grown, type Measure } from "./measure.ts";

/** Rows, or those where `column` is not empty. */
export const countMeasure = (column?: string): Measure<number> => ({
  start(columns) {
    const place = column === undefined ? -1 : columns.place(column);
    let counts = new Float64Array(0);
    return {
      add({ rows, count, place: places, group }, groups) {
        counts = grown(counts, groups);
        for (let i = 0; i < count; i++) {
          if (place >= 0 && rows[places[i] as number]?.[place] === null) continue;
          const of = group[i] as number;
          counts[of] = (counts[of] as number) + 1;
        }
      },
      state: (group) => counts[group] as number,
    };
  },
  merge: (a, b) => a + b,
  write: (count, out) => out.count(count),
  read: (from) => from.count(),
});
