import { CorruptDataError } from "../../../model/errors.ts";
import type { Field } from "../records.ts";
import { type Distinct, distinctOf, exactMax, mergeDistinct, raise, registerCount } from "./hyperLogLog.ts";
import type { Measure, Meter } from "./measure.ts";
import { hash53 } from "./murmur3.ts";

/** How many different values a column has; see `hyperLogLog.ts`. The number 1 and the text "1" are two values. */
export const distinctMeasure = (column: string): Measure<Distinct> => ({
  start(columns, meter) {
    const index = columns.place(column);
    const sets: HashSet[] = [];
    return {
      add({ rows, count, place, group }) {
        for (let i = 0; i < count; i++) {
          const field = rows[place[i] as number]?.[index] as Field;
          if (field === null) continue;
          const of = group[i] as number;
          let set = sets[of];
          if (set === undefined) {
            set = hashSet(meter);
            sets[of] = set;
          }
          set.add(hashOf(field));
        }
      },
      state: (group) => sets[group]?.state() ?? { hashes: new Float64Array(0) },
    };
  },
  merge: mergeDistinct,
  write({ hashes, registers }, out) {
    out.count(hashes === undefined ? exactMax + 1 : hashes.length);
    for (const hash of hashes ?? []) out.number(hash);
    if (registers !== undefined) out.bytes(registers);
  },
  read(from) {
    const length = from.count();
    if (length > exactMax + 1) throw new CorruptDataError("bad-partial", `${length} hashes are too many`);
    if (length > exactMax) return { registers: from.bytes(registerCount) };
    return { hashes: Float64Array.from({ length }, () => from.number()) };
  },
});

/** Zero marks a free place of a set, so no hash is zero. */
const hashOf = (field: Exclude<Field, null>): number =>
  (typeof field === "string" ? hash53(field, 0) : hash53(String(field), typeof field === "number" ? 1 : 2)) ||
  1;

interface HashSet {
  add(hash: number): void;
  state(): Distinct;
}

/** Open addressing, doubled at half full; registers once there are too many hashes. */
function hashSet(meter: Meter): HashSet {
  let places = new Float64Array(8);
  let size = 0;
  let registers: Uint8Array | undefined;
  meter(places.length * 8);
  const put = (hash: number): boolean => {
    const mask = places.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      if (places[at] === hash) return false;
      if (places[at] !== 0) continue;
      places[at] = hash;
      return true;
    }
  };
  return {
    add(hash) {
      if (registers !== undefined) return raise(registers, hash);
      if (!put(hash)) return;
      size += 1;
      if (size > exactMax) {
        registers = distinctOf(places.filter((one) => one !== 0)).registers;
        places = new Float64Array(0);
      } else if (size * 2 > places.length) {
        meter(places.length * 4);
        const before = places;
        places = new Float64Array(before.length * 2);
        for (const one of before) if (one !== 0) put(one);
      }
    },
    state: () =>
      registers === undefined ? { hashes: places.filter((one) => one !== 0).sort() } : { registers },
  };
}
