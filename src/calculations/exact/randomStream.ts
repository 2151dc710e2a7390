import { CalculationError } from "../../engine/model/errors.ts";
import { blockNormals, doublesAt, pathLoops } from "../options/kernel.ts";
import { type Stream, wordsOf } from "../options/simulate.ts";

/**
 * Random numbers that depend on their key alone: the same on any machine, in any order of chunks and after any retry. Each
 * draw takes the next number of the stream, whichever kind it is.
 *
 * Threefry-4x32-20, a generator made for this (`assembly/fractions.ts` of `options`), with 52 bits for each number and
 * 2^33 numbers in a stream. Not for secrets.
 */
export interface RandomStream {
  /** Uniform between 0 and 1, which it never is: the middle of one of 2^52 equal cells. */
  uniform(): number;
  /** Standard normal: the quantile of the next uniform number, to about 16 digits. */
  normal(): number;
}

/**
 * The stream of a key: a seed from 0 to 2^53 - 1, the index of a chunk, and, if a chunk needs several, the number of the
 * stream, both below 2^32. Streams of different keys are independent. The normals are those of `options` under that seed
 * in that chunk. Throws `CalculationError` for a key that is not such numbers.
 */
export function randomStream(seed: number, chunk: number, stream = 0): RandomStream {
  const key = { seed, chunk, stream };
  for (const [name, value, max] of [
    ["seed", seed, Number.MAX_SAFE_INTEGER],
    ["chunk", chunk, 2 ** 32 - 1],
    ["stream", stream, 2 ** 32 - 1],
  ] as const) {
    if (!Number.isInteger(value) || value < 0 || value > max)
      throw new CalculationError("bad-key", `the ${name} of random numbers is 0 to ${max}, and not ${value}`);
  }
  let next = 0;
  /** The block that `next` is in, of each kind as soon as one was drawn. */
  let fractions: Float64Array | undefined;
  let normals: Float64Array | undefined;
  const advance = (): number => {
    const at = next++ % blockNormals;
    if (at === 0) [fractions, normals] = [undefined, undefined];
    return at;
  };
  return {
    uniform() {
      const at = advance();
      fractions ??= blockOf(key, next - 1 - at, false);
      return 0.5 + (fractions[at] as number);
    },
    normal() {
      const at = advance();
      normals ??= blockOf(key, next - 1 - at, true);
      return normals[at] as number;
    },
  };
}

/** Numbers `from` to `from + blockNormals` of a stream: fractions from -1/2 to 1/2, or normals. */
function blockOf(key: Stream, from: number, asNormals: boolean): Float64Array {
  const loops = pathLoops();
  const { key: keys, counter } = wordsOf(key, from);
  loops.fractions(blockNormals, ...keys, ...counter);
  if (asNormals) loops.quantiles(blockNormals);
  return doublesAt(loops, loops.normals, blockNormals).slice();
}
