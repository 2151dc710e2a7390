import { CorruptDataError } from "../../../model/errors.ts";
import { type Cells, emptyCell, numberCell, textCell } from "../cells/cells.ts";
import type { Field } from "../records.ts";
import type { Measure } from "./measure.ts";
import { hash53, textHash53 } from "./murmur3.ts";

/**
 * How many different values there are, from a 53-bit hash of each: exactly, as the set of hashes, up to 512 of them;
 * beyond that by HyperLogLog with 4,096 registers, with a standard error of 1.04 / √4096 = 1.6 %.
 *
 * P. Flajolet et al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm", AofA 2007. The
 * estimate is algorithm 6 of O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches",
 * arXiv:1702.01284: it has no bias to correct, small or large.
 *
 * The state is a function of the set of all hashes, so a merge gives the same state however the values were cut and
 * grouped.
 */
interface Distinct {
  /** In rising order; absent if there are registers. */
  readonly hashes?: Float64Array;
  readonly registers?: Uint8Array;
}

export const exactMax = 512;
const registerCount = 4096;
const indexBits = 12;
/** Bits of a hash that are not its index. */
const rankBits = 53 - indexBits;

export function distinctOf(hashes: Float64Array): Distinct {
  if (hashes.length <= exactMax) return { hashes };
  const registers = new Uint8Array(registerCount);
  for (const hash of hashes) raise(registers, hash);
  return { registers };
}

/** Adds a hash to the registers: its rank is the position of the first 1 among the bits that are not the index. */
function raise(registers: Uint8Array, hash: number): void {
  const upper = Math.floor(hash / 2 ** 32);
  const lower = hash >>> 0;
  const index = lower & (registerCount - 1);
  // 21 bits above, 20 below.
  setRank(registers, index, upper !== 0 ? Math.clz32(upper) - 10 : Math.clz32(lower >>> indexBits) + 10);
}

function setRank(registers: Uint8Array, index: number, rank: number): void {
  if ((registers[index] as number) < rank) registers[index] = rank;
}

export function mergeDistinct(a: Distinct, b: Distinct): Distinct {
  if (a.hashes !== undefined && b.hashes !== undefined) return distinctOf(union(a.hashes, b.hashes));
  const registers = Uint8Array.from(a.registers ?? b.registers ?? []);
  const other = a.registers === undefined ? a : b;
  for (const hash of other.hashes ?? []) raise(registers, hash);
  for (const [index, rank] of (other.registers ?? []).entries()) setRank(registers, index, rank);
  return { registers };
}

function union(a: Float64Array, b: Float64Array): Float64Array {
  const all = new Float64Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all.sort().filter((hash, index) => hash !== all[index - 1]);
}

/** The number of different hashes, rounded to a whole number. */
export function estimate({ hashes, registers }: Distinct): number {
  if (hashes !== undefined) return hashes.length;
  const histogram = new Array<number>(rankBits + 2).fill(0);
  for (const rank of registers ?? []) histogram[rank] = (histogram[rank] as number) + 1;
  const m = registerCount;
  let z = m * tau(1 - (histogram[rankBits + 1] as number) / m);
  for (let rank = rankBits; rank >= 1; rank--) z = 0.5 * (z + (histogram[rank] as number));
  z += m * sigma((histogram[0] as number) / m);
  return Math.round((m * m) / (2 * Math.LN2 * z));
}

function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY;
  let x = share;
  let sum = x;
  for (let unit = 1, before = -1; sum !== before; unit += unit) {
    before = sum;
    x *= x;
    sum += x * unit;
  }
  return sum;
}

function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let x = share;
  let sum = 1 - x;
  for (let unit = 1, before = -1; sum !== before; ) {
    before = sum;
    x = Math.sqrt(x);
    unit *= 0.5;
    sum -= (1 - x) ** 2 * unit;
  }
  return sum / 3;
}

/** Counts the different values of a column. The number 1 and the text "1" are two values. */
export const distinctMeasure = (name: string): Measure<Distinct> => ({
  start(columns, meter) {
    const column = columns.indexOf(name);
    const sets: HashSet[] = [];
    return {
      add({ cells, count, index, group }) {
        for (let i = 0; i < count; i++) {
          const cell = (index[i] as number) * cells.width + column;
          const kind = cells.kinds[cell];
          if (kind === emptyCell) continue;
          const of = group[i] as number;
          let set = sets[of];
          if (set === undefined) {
            meter(setBytes);
            set = new HashSet();
            sets[of] = set;
          }
          const hash =
            kind === textCell
              ? hashOfBytes(cells, cell, 0)
              : kind === numberCell && cells.isWhole(cell)
                ? hashOfBytes(cells, cell, 1)
                : hashOf(cells.field(index[i] as number, column));
          const more = set.add(hash);
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

/** Zero marks a free slot of a set, so no hash is zero. */
const hashOf = (field: Field): number =>
  textHash53(String(field), typeof field === "string" ? 0 : typeof field === "number" ? 1 : 2) || 1;

const hashOfBytes = ({ bytes, starts, ends }: Cells, cell: number, seed: number): number =>
  hash53(bytes, starts[cell] as number, ends[cell] as number, seed) || 1;

/** A quarter of what a small set takes in memory, and more than it takes in a partial. */
const setBytes = 64;

/**
 * Open addressing, doubled at half full; registers once there are too many hashes. It is a class because there may be
 * one for each of 200,000 groups, and closures would be most of their memory.
 */
class HashSet {
  #slots = new Float64Array(8);
  #size = 0;
  #registers: Uint8Array | undefined;

  /** Returns the number of bytes by which the set grew. */
  add(hash: number): number {
    if (this.#registers !== undefined) {
      raise(this.#registers, hash);
      return 0;
    }
    if (!this.#put(hash)) return 0;
    this.#size += 1;
    if (this.#size > exactMax) {
      this.#registers = distinctOf(this.#hashes()).registers;
      this.#slots = new Float64Array(0);
      return 0;
    }
    if (this.#size * 2 <= this.#slots.length) return 0;
    const before = this.#hashes();
    this.#slots = new Float64Array(this.#slots.length * 2);
    for (const hash of before) this.#put(hash);
    return before.length * 8;
  }

  state(): Distinct {
    return this.#registers === undefined ? { hashes: this.#hashes().sort() } : { registers: this.#registers };
  }

  #put(hash: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      if (slots[at] === hash) return false;
      if (slots[at] !== 0) continue;
      slots[at] = hash;
      return true;
    }
  }

  #hashes(): Float64Array<ArrayBuffer> {
    return this.#slots.filter((hash) => hash !== 0);
  }
}
