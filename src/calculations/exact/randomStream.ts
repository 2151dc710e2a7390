import { CalculationError } from "../../engine/model/errors.ts";
import { normalQuantile } from "./normalQuantile.ts";
import { threefry4x32, type Words } from "./threefry.ts";

/**
 * Random numbers that depend on their key alone: the same on any machine, in any order of chunks and after any retry. Each
 * draw takes the next number of the stream, whichever kind it is.
 *
 * Threefry-4x32-20, a generator made for this, with 52 bits for each number and 2^33 numbers in a stream. Not for secrets.
 */
export interface RandomStream {
  /** Uniform between 0 and 1, which it never is: the middle of one of 2^52 equal cells. */
  uniform(): number;
  /** Standard normal: the quantile of the next uniform number, to about 16 digits. */
  normal(): number;
}

/**
 * The stream of a key: a seed from 0 to 2^53 - 1, the index of a chunk, and, if a chunk needs several, the number of the
 * stream, both below 2^32. Streams of different keys are independent. Throws `CalculationError` for a key that is not such numbers.
 */
export function randomStream(seed: number, chunk: number, stream = 0): RandomStream {
  for (const [name, value, max] of [
    ["seed", seed, Number.MAX_SAFE_INTEGER],
    ["chunk", chunk, 2 ** 32 - 1],
    ["stream", stream, 2 ** 32 - 1],
  ] as const) {
    if (!Number.isInteger(value) || value < 0 || value > max)
      throw new CalculationError("bad-key", `the ${name} of random numbers is 0 to ${max}, and not ${value}`);
  }
  const key: Words = [seed | 0, Math.floor(seed / 2 ** 32), 0, 0];
  let drawn = 0;
  let block: Words = key;
  /** From -1/2 to 1/2. A block gives two. */
  const next = (): number => {
    const isFirst = drawn % 2 === 0;
    if (isFirst) block = threefry4x32(key, [drawn / 2, chunk, stream, 0]);
    drawn += 1;
    return isFirst ? fractionOf(block[0], block[1]) : fractionOf(block[2], block[3]);
  };
  return { uniform: () => 0.5 + next(), normal: () => normalQuantile(next()) };
}

/** Of the upper word, read with its sign, and the first 20 bits of the lower one: the middle of a cell. All of it is exact. */
const fractionOf = (upper: number, lower: number): number =>
  (upper + ((lower >>> 12) + 0.5) / 2 ** 20) / 2 ** 32;
