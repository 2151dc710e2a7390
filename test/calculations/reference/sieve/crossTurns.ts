import { cross1, cross7, cross11, cross13 } from "./crossTurns1to13.ts";
import { cross17, cross19, cross23, cross29 } from "./crossTurns17to29.ts";

/**
 * Crosses out multiples, a whole turn of the wheel at a time, for the primes of one class: eight stores at fixed
 * distances with fixed masks, which is what makes the sieve fast. The functions differ only in the carries and
 * masks of `wheel.ts` (a test compares them); written out, those are constants to the compiler. They work on a
 * DataView, and write `| 0` at every position, because V8 makes fewer instructions of that than of a Uint8Array:
 * measured, a fifth less time for the small primes.
 *
 * `next[i]` is where the current turn of `primes[i]` starts. A turn that starts before `end` is crossed out
 * completely, so up to one prime's length is written after `end`; the caller keeps margins for that.
 */
export type CrossTurns = (
  sieve: DataView,
  primes: Int32Array,
  next: Int32Array,
  first: number,
  last: number,
  end: number,
) => void;

/** One function per class, in the order of `residues`. */
export const crossTurns: readonly CrossTurns[] = [
  cross1,
  cross7,
  cross11,
  cross13,
  cross17,
  cross19,
  cross23,
  cross29,
];
