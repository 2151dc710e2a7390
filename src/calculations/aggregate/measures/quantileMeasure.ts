import { bucketOf, type Sketch } from "../../exact/buckets.ts";
import { type Count, grown, type Measure, type Meter, mergeCounts } from "./measure.ts";

const empty: Sketch = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY, counts: [] };

/** A quarter of what a map takes in memory, and of what an entry of it takes, which `Buckets` stays below. */
const bucketsBytes = 75;
const entryBytes = 10;

export const quantileMeasure = (column: string): Measure<Sketch> => ({
  start(columns, meter: Meter) {
    const numbers = columns.numbers(column);
    const groups: Buckets[] = [];
    let min = new Float64Array(0);
    let max = new Float64Array(0);
    return {
      add(selection, size) {
        min = grown(min, size, empty.min);
        max = grown(max, size, empty.max);
        const { count, group } = selection;
        const values = numbers.of(selection);
        for (let i = 0; i < count; i++) {
          const x = values[i] as number;
          if (Number.isNaN(x)) continue;
          const of = group[i] as number;
          let counts = groups[of];
          if (counts === undefined) {
            meter(bucketsBytes);
            counts = new Buckets();
            groups[of] = counts;
          }
          min[of] = Math.min(min[of] as number, x);
          max[of] = Math.max(max[of] as number, x);
          if (counts.add(bucketOf(x))) meter(entryBytes);
        }
      },
      state: (group) =>
        groups[group] === undefined
          ? empty
          : {
              min: min[group] as number,
              max: max[group] as number,
              counts: (groups[group] as Buckets).sorted(),
            },
    };
  },
  merge: (a, b) => ({
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    counts: mergeCounts(a.counts, b.counts, rising),
  }),
  write({ min, max, counts }, out) {
    out.count(counts.length);
    if (counts.length === 0) return;
    out.number(min);
    out.number(max);
    let before = -bucketMax;
    for (const { value: bucket, count } of counts) {
      out.count(bucket - before);
      out.count(count);
      before = bucket;
    }
  },
  read(from) {
    const length = from.count();
    if (length === 0) return empty;
    const [min, max] = [from.number(), from.number()];
    let bucket = -bucketMax;
    const counts = Array.from({ length }, () => {
      bucket += from.count();
      return { value: bucket, count: from.count() };
    });
    return { min, max, counts };
  },
});

/** How many numbers each bucket has: an open-addressing table, doubled at half full. A free slot has the count 0. */
class Buckets {
  #buckets = new Int32Array(8);
  #counts = new Float64Array(8);
  #size = 0;

  /** Adds a number to a bucket and tells whether it is the first one there. */
  add(bucket: number): boolean {
    const slot = this.#slotOf(bucket);
    const before = this.#counts[slot] as number;
    this.#counts[slot] = before + 1;
    if (before !== 0) return false;
    this.#buckets[slot] = bucket;
    this.#size += 1;
    if (this.#size * 2 > this.#counts.length) this.#grow();
    return true;
  }

  sorted(): Count<number>[] {
    const found: Count<number>[] = [];
    for (const [slot, count] of this.#counts.entries()) {
      if (count > 0) found.push({ value: this.#buckets[slot] as number, count });
    }
    return found.sort((a, b) => a.value - b.value);
  }

  #slotOf(bucket: number): number {
    const mask = this.#counts.length - 1;
    const hash = Math.imul(bucket, 0x9e3779b1);
    let slot = (hash ^ (hash >>> 16)) & mask;
    while (this.#counts[slot] !== 0 && this.#buckets[slot] !== bucket) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [buckets, counts] = [this.#buckets, this.#counts];
    this.#buckets = new Int32Array(counts.length * 2);
    this.#counts = new Float64Array(counts.length * 2);
    for (const [before, count] of counts.entries()) {
      if (count === 0) continue;
      const slot = this.#slotOf(buckets[before] as number);
      this.#buckets[slot] = buckets[before] as number;
      this.#counts[slot] = count;
    }
  }
}

const bucketMax = bucketOf(Number.MAX_VALUE);
const rising = (a: number, b: number): number => a - b;
