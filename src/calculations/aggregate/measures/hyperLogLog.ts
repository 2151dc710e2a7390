/**
 * How many different values there are, from a hash of 53 bits of each: exactly, as the set of hashes, up to 512 of
 * them; beyond that by HyperLogLog with 4,096 registers, with a standard error of 1.04 / √4096 = 1.6 %.
 *
 * P. Flajolet et al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm", AofA 2007. The
 * estimate is algorithm 6 of O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches",
 * arXiv:1702.01284: it has no bias to correct, small or large.
 *
 * Registers are a function of the set of all hashes, and whether there are registers is one of its size. So a merge
 * gives the same state however the values were cut and grouped.
 */
export interface Distinct {
  /** In rising order; absent where there are registers. */
  readonly hashes?: Float64Array;
  readonly registers?: Uint8Array;
}

export const exactMax = 512;
export const registerCount = 4096;
const indexBits = 12;
/** Bits of a hash that are not its index. */
const rankBits = 53 - indexBits;

export function distinctOf(hashes: Float64Array): Distinct {
  if (hashes.length <= exactMax) return { hashes };
  const registers = new Uint8Array(registerCount);
  for (const hash of hashes) raise(registers, hash);
  return { registers };
}

/** Takes a hash into the registers: the place of the first 1 among the bits that are not the index. */
export function raise(registers: Uint8Array, hash: number): void {
  const upper = Math.floor(hash / 2 ** 32);
  const lower = hash >>> 0;
  const index = lower & (registerCount - 1);
  // 21 bits above, 20 below.
  const rank = upper !== 0 ? Math.clz32(upper) - 10 : Math.clz32(lower >>> indexBits) + 10;
  if ((registers[index] as number) < rank) registers[index] = rank;
}

export function mergeDistinct(a: Distinct, b: Distinct): Distinct {
  if (a.hashes !== undefined && b.hashes !== undefined) return distinctOf(union(a.hashes, b.hashes));
  const registers = Uint8Array.from(a.registers ?? b.registers ?? []);
  const other = a.registers === undefined ? a : b;
  for (const hash of other.hashes ?? []) raise(registers, hash);
  for (const [index, rank] of (other.registers ?? []).entries()) {
    if ((registers[index] as number) < rank) registers[index] = rank;
  }
  return { registers };
}

function union(a: Float64Array, b: Float64Array): Float64Array {
  const all = new Float64Array(a.length + b.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.length || j < b.length; length++) {
    const left = i < a.length ? (a[i] as number) : Number.POSITIVE_INFINITY;
    const right = j < b.length ? (b[j] as number) : Number.POSITIVE_INFINITY;
    all[length] = Math.min(left, right);
    if (left <= right) i++;
    if (right <= left) j++;
  }
  return all.slice(0, length);
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
