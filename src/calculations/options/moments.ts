import type { Codec } from "../../engine/calculation/contract.ts";
import { type ExactSum, exactSum } from "../exact/exactSum.ts";
import { type Contract, lawOf, type Values } from "./law.ts";

/**
 * Names of the sums over samples. A sample is one path, or two opposite ones whose values are added. Its values are the
 * undiscounted `payoff`, `hits` (the number of its paths that end in the money), and for those paths `score`, the
 * standard normal y that made the path's mean G, and `tilt`, the derivative of ±G by the volatility. Each square and
 * product is rounded once. The sums are exact, so that their bits do not depend on the order.
 */
export const sumNames = ["payoff", "payoff2", "payoffHits", "score", "score2", "tilt", "tilt2"] as const;
type SumName = (typeof sumNames)[number];

export interface Moments {
  samples: number;
  hits: number;
  hits2: number;
  readonly sums: Readonly<Record<SumName, ExactSum>>;
}

export const noMoments = (): Moments => ({ samples: 0, hits: 0, hits2: 0, sums: sumsFrom(() => exactSum()) });

const sumsFrom = (make: (name: SumName) => ExactSum): Record<SumName, ExactSum> =>
  Object.fromEntries(sumNames.map((name) => [name, make(name)])) as Record<SumName, ExactSum>;

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

/** A mean over samples; `null` if there are too few: no samples have no mean; one, or none in the money, has no error. */
export interface Estimate {
  readonly value: number | null;
  /** Of the mean. */
  readonly standardError: number | null;
}

/**
 * The price and its derivatives from the sampled moments, if the spread of the law is not 0.
 *
 * Delta, vega and rho are pathwise: means of the payoff's derivative along a path. The payoff has no second
 * derivative, so gamma is that of delta by the likelihood ratio: P. Glasserman, "Monte Carlo methods in
 * financial engineering" (2003), sections 7.2 and 7.3. As G is the strike ± the payoff on a path in the
 * money, price, delta and rho are linear in the payoff and the number of such paths.
 */
export function estimates(
  contract: Contract,
  { samples, hits, hits2, sums }: Moments,
  pathsPerSample: number,
): Readonly<Record<keyof Values, Estimate>> {
  const { spot, strike, maturity } = contract;
  const { sign, discount, meanTime, spread } = lawOf(contract);
  const scale = discount / pathsPerSample;
  const [payoff, payoff2, payoffHits] = [sums.payoff.value(), sums.payoff2.value(), sums.payoffHits.value()];
  const mean = (by: number, sum: number, squares: number): Estimate =>
    meanOf({ samples, hits }, scale * by, sum, squares);
  /** Of a · payoff + b · hits. */
  const linear = (by: number, a: number, b: number): Estimate =>
    mean(by, a * payoff + b * hits, a * a * payoff2 + 2 * a * b * payoffHits + b * b * hits2);
  return {
    price: linear(1, 1, 0),
    delta: linear(1 / spot, 1, sign * strike),
    gamma: mean((sign * strike) / (spot * spot * spread), sums.score.value(), sums.score2.value()),
    vega: mean(sign, sums.tilt.value(), sums.tilt2.value()),
    rho: linear(1, meanTime - maturity, sign * meanTime * strike),
  };
}

function meanOf(
  { samples, hits }: Pick<Moments, "samples" | "hits">,
  scale: number,
  sum: number,
  squares: number,
): Estimate {
  if (samples === 0) return { value: null, standardError: null };
  const value = (scale * sum) / samples;
  // Samples that are all 0 say that others are rare, and nothing of their spread: an error of 0 would claim certainty.
  if (samples === 1 || hits === 0) return { value, standardError: null };
  const apart = squares - (sum * sum) / samples;
  // Squares are rounded, so a smaller difference than this does not come from the samples.
  const variance = apart > squares * 2 ** -50 ? apart / (samples - 1) : 0;
  return { value, standardError: Math.abs(scale) * Math.sqrt(variance / samples) };
}
