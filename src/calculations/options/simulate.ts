import { blockNormals, columnAdder, doublesAt, type PathLoops, pathLoops } from "./kernel.ts";
import { type Contract, type Law, lawOf } from "./law.ts";
import { type Moments, noMoments, sumNames } from "./moments.ts";

/** Identifies random numbers: normal `n` of a stream is always the same. */
export interface Stream {
  /** 0 to 2^53 - 1. */
  readonly seed: number;
  readonly chunk: number;
  /** A chunk may have several; that of a simulation is 0. */
  readonly stream?: number;
}

/** An antithetic sample is two paths: the second of the negatives of the first one's normals. */
export interface Simulated {
  readonly contract: Contract;
  readonly law: Law;
  readonly antithetic: boolean;
}

/** The hot part of the simulation, block by block. Tests compare `pathKernel` with a reference in JavaScript. */
export interface PathKernel {
  /** `blockNormals` numbers, which the methods fill and read. */
  readonly normals: Float64Array;
  /**
   * Fills `normals` with normals `from` to `from + count` of a stream; `from` is even, `count` at most
   * `blockNormals`. Each is made of 52 bits, at the middle of its cell.
   */
  fillNormals(stream: Stream, from: number, count: number): void;
  /** Adds `count` samples; number i of `normals` is the y of the law that makes sample i's G. */
  addSamples(moments: Moments, simulated: Simulated, count: number): void;
}

/**
 * The moments of `samples` samples. Sample i takes normals i · n to (i + 1) · n - 1 of the stream, for n fixings; an
 * antithetic one takes its path with the negatives of these normals too.
 */
export function simulate(
  kernel: PathKernel,
  contract: Contract,
  stream: Stream,
  { samples, antithetic }: { samples: number; antithetic: boolean },
): Moments {
  const moments = noMoments();
  const law = lawOf(contract);
  const { normals } = kernel;
  const { fixings } = law;
  const weights = weightsOf(fixings);
  let fixing = 0;
  let y = 0;
  for (let done = 0; done < samples * fixings; done += blockNormals) {
    const count = Math.min(blockNormals, samples * fixings - done);
    kernel.fillNormals(stream, done, count);
    let ready = fixings === 1 ? count : 0;
    if (fixings > 1) {
      for (let i = 0; i < count; i++) {
        y += (weights[fixing] as number) * (normals[i] as number);
        if (++fixing < fixings) continue;
        // No slot is overwritten before it was read: a path has more normals than one.
        normals[ready++] = y;
        fixing = 0;
        y = 0;
      }
    }
    kernel.addSamples(moments, { contract, law, antithetic }, ready);
  }
  if (!antithetic) moments.sums.payoffHits.merge(moments.sums.payoff);
  return moments;
}

/** Weights that give a standard normal y from the path's steps: y = ΣW(t)/n divided by its standard deviation. */
function weightsOf(fixings: number): Float64Array {
  const scale = 1 / Math.sqrt((fixings * (fixings + 1) * (2 * fixings + 1)) / 6);
  return Float64Array.from({ length: fixings }, (_, step) => (fixings - step) * scale);
}

/** Key and counter of the Threefry block that makes a stream's normals `from` and `from + 1`; `from` is even. */
export const wordsOf = ({ seed, chunk, stream = 0 }: Stream, from: number) => ({
  key: [seed, Math.floor(seed / 2 ** 32), 0, 0] as const,
  counter: [from / 2, chunk, stream, 0] as const,
});

/** The kernel compiled from `assembly/`: the hot loops are there, their inputs and outputs are here. */
export function pathKernel(loops: PathLoops = pathLoops()): PathKernel {
  const hits = doublesAt(loops, loops.hits, 2);
  const strideBytes = loops.strideBytes.value;
  const columns = sumNames.map((_, k) => doublesAt(loops, loops.columns, blockNormals, k * strideBytes));
  const addColumn = columnAdder(loops);
  return {
    normals: doublesAt(loops, loops.normals, blockNormals),
    fillNormals(stream, from, count) {
      const { key, counter } = wordsOf(stream, from);
      loops.fractions(count, ...key, ...counter);
      loops.quantiles(count);
    },
    addSamples(moments, { contract, law, antithetic }, count) {
      const { spot, strike, volatility } = contract;
      const { sign, drift, spread, deviation, meanTime } = law;
      const volatilityTime = volatility * meanTime;
      loops.addPaths(count, antithetic, sign, spot, strike, drift, spread, deviation, volatilityTime);
      moments.samples += count;
      moments.hits += hits[0] as number;
      moments.hits2 += hits[1] as number;
      for (const [k, name] of sumNames.entries()) {
        if (name === "payoffHits" && !antithetic) continue;
        addColumn(moments.sums[name], k, columns[k] as Float64Array, count);
      }
    },
  };
}
