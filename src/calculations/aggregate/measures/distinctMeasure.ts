import { CorruptDataError } from "../../../model/errors.ts";
import type { Field } from "../records.ts";
import { type Distinct, distinctOf, exactMax, mergeDistinct, raise, registerCount } from "./hyperLogLog.ts";
import type { Measure } from "./measure.ts";
import { hash53 } from "./murmur3.ts";

/** A quarter of what a small set takes in memory, and more than it takes in a partial. */
const setBytes = 64;

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
            meter(setBytes);
            set = new HashSet();
            sets[of] = set;
          }
          const more = set.add(hashOf(field));
          if (more > 0) meter(more);
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

/**
 * Open addressing, doubled at half full; registers once there are too many hashes. A class, since there may be one for
 * each of 200,000 groups, and closures of their own would be most of their memory.
 */
class HashSet {
  #places = new Float64Array(8);
  #size = 0;
  #registers: Uint8Array | undefined;

  /** Returns by how many bytes it grew. */
  add(hash: number): number {
    if (this.#registers !== undefined) {
      raise(this.#registers, hash);
      return 0;
    }
    if (!this.#put(hash)) return 0;
    this.#size += 1;
    if (this.#size > exactMax) {
      this.#registers = distinctOf(this.#hashes()).registers;
      this.#places = new Float64Array(0);
      return 0;
    }
    if (this.#size * 2 <= this.#places.length) return 0;
    const before = this.#hashes();
    this.#places = new Float64Array(this.#places.length * 2);
    for (const one of before) this.#put(one);
    return before.length * 8;
  }

  state(): Distinct {
    return this.#registers === undefined ? { hashes: this.#hashes().sort() } : { registers: this.#registers };
  }

  #put(hash: number): boolean {
    const places = this.#places;
    const mask = places.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      if (places[at] === hash) return false;
      if (places[at] !== 0) continue;
      places[at] = hash;
      return true;
    }
  }

  #hashes(): Float64Array<ArrayBuffer> {
    return this.#places.filter((one) => one !== 0);
  }
}
