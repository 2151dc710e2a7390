import { type BasePrimes, basePrimes } from "../../../../src/calculations/primes/basePrimes.ts";
import { preSievedMax } from "./preSieve.ts";

/** Bytes sieved at a time; with the margins and the patterns they fit into a second-level cache of 1 MB. */
export const blockBytes = 512 * 1024;
/** Bytes crossed at a time by the small primes: a first-level cache. */
export const subBlockBytes = 32 * 1024;
/** Primes up to this one are crossed sub-block by sub-block. */
export const smallMax = 8 * 1024;
/** Before and after the block, for turns that begin before it or end after it: the longest turn crossed whole. */
export const marginBytes = 128 * 1024;

/** What one thread sieves with: under 1 MB, and 9 bytes for each base prime (78,498 of them at 10^12). */
export interface Scratch {
  /** Margin, block, margin; the same bytes in three views, each the fastest for its use. */
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly view: DataView;
  readonly base: BasePrimes;
  /** For each class and base prime, where its next multiple lies in `bytes`. */
  readonly next: readonly Int32Array[];
  readonly place: readonly Uint8Array[];
}

let cached: Scratch | undefined;

/** The thread's scratch memory, with base primes up to `root` or further. It is kept between chunks. */
export function scratchFor(root: number): Scratch {
  if (cached !== undefined && cached.base.limit >= root) return cached;
  const base = basePrimes(preSievedMax, root);
  const bytes = cached?.bytes ?? new Uint8Array(blockBytes + 2 * marginBytes);
  cached = {
    bytes,
    words: new Int32Array(bytes.buffer),
    view: new DataView(bytes.buffer),
    base,
    next: base.classes.map((primes) => new Int32Array(primes.length)),
    place: base.classes.map((primes) => new Uint8Array(primes.length)),
  };
  return cached;
}
