import type { Contract, Law, Values } from "./law.ts";
import type { Moments } from "./moments.ts";

/** A mean over samples; `null` where there are too few: of none there is no mean, of one no error. */
export interface Estimate {
  readonly value: number | null;
  /** Of the mean. */
  readonly standardError: number | null;
}

/**
 * The price and its derivatives from what was sampled, where the spread of the law is not 0.
 *
 * Delta, vega and rho are pathwise: means of the payoff's derivative along a path. The payoff has no second
 * derivative, so gamma is that of delta by the likelihood ratio: P. Glasserman, "Monte Carlo methods in
 * financial engineering" (2003), sections 7.2 and 7.3. As G is the strike ± the payoff on a path in the
 * money, price, delta and rho are linear in the payoff and the number of such paths.
 */
export function estimates(
  { spot, strike, maturity }: Contract,
  { sign, discount, meanTime, spread }: Law,
  { samples, hits, hits2, sums }: Moments,
  pathsPerSample: number,
): Readonly<Record<keyof Values, Estimate>> {
  const scale = discount / pathsPerSample;
  const [payoff, payoff2, payoffHits] = [sums.payoff.value(), sums.payoff2.value(), sums.payoffHits.value()];
  const mean = (by: number, sum: number, squares: number): Estimate =>
    meanOf(samples, scale * by, sum, squares);
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

function meanOf(samples: number, scale: number, sum: number, squares: number): Estimate {
  if (samples === 0) return { value: null, standardError: null };
  const value = (scale * sum) / samples;
  if (samples === 1) return { value, standardError: null };
  const apart = squares - (sum * sum) / samples;
  // Squares are rounded: what is smaller against them is no difference between samples.
  const variance = apart > squares * 2 ** -50 ? apart / (samples - 1) : 0;
  return { value, standardError: Math.abs(scale) * Math.sqrt(variance / samples) };
}
