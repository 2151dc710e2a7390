import type { Codec } from "../contract.ts";
import { type ExactSum, exactSum } from "../exact/exactSum.ts";
import { blockNormals } from "./pathKernel.ts";

/**
 * What a sample contributes, undiscounted; a sample is one path, or two opposite ones whose values are added.
 *
 * `payoff`; `hits`: how many of its paths end in the money; and what derivatives of the price need of the
 * paths that do: `score`, the standard normal y that made the path's mean G, and `tilt`, the derivative of ±G
 * by the volatility.
 */
export interface Samples {
  readonly payoff: Float64Array;
  readonly hits: Float64Array;
  readonly score: Float64Array;
  readonly tilt: Float64Array;
}

export const sumNames = ["payoff", "payoff2", "payoffHits", "score", "score2", "tilt", "tilt2"] as const;
type SumName = (typeof sumNames)[number];

/**
 * Sums over samples, exact, so that the order of adding leaves no trace. Squares and products are rounded,
 * each once.
 */
export interface Moments {
  samples: number;
  hits: number;
  hits2: number;
  readonly sums: Readonly<Record<SumName, ExactSum>>;
}

export const noMoments = (): Moments => ({ samples: 0, hits: 0, hits2: 0, sums: sumsFrom(() => exactSum()) });

const sumsFrom = (make: (name: SumName) => ExactSum): Record<SumName, ExactSum> =>
  Object.fromEntries(sumNames.map((name) => [name, make(name)])) as Record<SumName, ExactSum>;

/**
 * Adds the first `count` samples, at most `blockNormals`. The sum of payoff · hits, which of samples of one
 * path is that of the payoffs, is left out where `pairs` is false.
 */
export function addSamples(moments: Moments, samples: Samples, count: number, pairs: boolean): void {
  const { payoff, hits, score, tilt } = samples;
  const { sums } = moments;
  let inMoney = 0;
  let inMoney2 = 0;
  for (let i = 0; i < count; i++) {
    const paths = hits[i] as number;
    inMoney += paths;
    inMoney2 += paths * paths;
  }
  moments.samples += count;
  moments.hits += inMoney;
  moments.hits2 += inMoney2;
  sums.payoff.addAll(payoff, 0, count);
  addProducts(sums.payoff2, payoff, payoff, count);
  if (pairs) addProducts(sums.payoffHits, payoff, hits, count);
  sums.score.addAll(score, 0, count);
  addProducts(sums.score2, score, score, count);
  sums.tilt.addAll(tilt, 0, count);
  addProducts(sums.tilt2, tilt, tilt, count);
}

const products = new Float64Array(blockNormals);

function addProducts(sum: ExactSum, a: Float64Array, b: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) products[i] = (a[i] as number) * (b[i] as number);
  sum.addAll(products, 0, count);
}

/** The moments of the samples of both; neither is changed. */
export function mergeMoments(a: Moments, b: Moments): Moments {
  const sums = sumsFrom((name) => {
    const sum = exactSum();
    sum.merge(a.sums[name]);
    sum.merge(b.sums[name]);
    return sum;
  });
  return { samples: a.samples + b.samples, hits: a.hits + b.hits, hits2: a.hits2 + b.hits2, sums };
}

/** JSON of a few hundred bytes; equal moments have equal bytes. */
export const momentsCodec: Codec<Moments> = {
  contentType: "application/json",
  encode: ({ samples, hits, hits2, sums }) =>
    new TextEncoder().encode(
      JSON.stringify([samples, hits, hits2, ...sumNames.map((name) => sums[name].encode())]),
    ),
  decode(bytes) {
    const [samples, hits, hits2, ...texts] = JSON.parse(new TextDecoder().decode(bytes));
    return { samples, hits, hits2, sums: sumsFrom((name) => exactSum(texts[sumNames.indexOf(name)])) };
  },
};
