import { exp, ln } from "./kernel.ts";

/** The option to price, and its market. Rates, dividend yield and volatility are per year, maturity is in years. */
export interface Contract {
  readonly kind: "call" | "put" | "asian-call" | "asian-put";
  readonly spot: number;
  readonly strike: number;
  readonly rate: number;
  readonly dividend: number;
  readonly volatility: number;
  readonly maturity: number;
  /** Fixing dates of an Asian option, equally spaced, the last one at maturity. */
  readonly steps: number;
}

/**
 * The law of G, the geometric mean of the fixings, in the model of Black and Scholes: ln G is normal. A
 * European option is one with a single fixing, so that one law serves all kinds.
 *
 * A. Kemna, A. Vorst, "A pricing method for options based on average asset values", Journal of Banking and
 * Finance 14 (1990), 113–129, here with discrete fixings.
 */
export interface Law {
  /** 1 of a call, -1 of a put. */
  readonly sign: 1 | -1;
  readonly fixings: number;
  /** e^(-rate · maturity). */
  readonly discount: number;
  /** Mean of the fixing dates, in years: maturity · (n + 1) / 2n. */
  readonly meanTime: number;
  /** Standard deviation of the mean of the Brownian motion at the fixings: √(maturity · (n + 1)(2n + 1) / 6n²). */
  readonly deviation: number;
  /** G = spot · e^(drift + spread · y) with a standard normal y. */
  readonly drift: number;
  readonly spread: number;
}

export function lawOf(contract: Contract): Law {
  const { kind, rate, dividend, volatility, maturity } = contract;
  const fixings = kind.startsWith("asian") ? contract.steps : 1;
  const meanTime = (maturity * (fixings + 1)) / (2 * fixings);
  const deviation = Math.sqrt((maturity * (fixings + 1) * (2 * fixings + 1)) / (6 * fixings * fixings));
  const drift = (rate - dividend - 0.5 * volatility * volatility) * meanTime;
  const spread = volatility * deviation;
  const discount = exp(-rate * maturity);
  return { sign: kind.endsWith("call") ? 1 : -1, fixings, discount, meanTime, deviation, drift, spread };
}

/** A price and its derivatives by spot (twice), volatility and rate; `null` at a kink, where there is none. */
export interface Values {
  readonly price: number;
  readonly delta: number | null;
  readonly gamma: number | null;
  readonly vega: number | null;
  readonly rho: number | null;
}

/**
 * The exact values; for one fixing those of Black and Scholes with dividend yield. Without volatility or time to
 * maturity G is certain, and the derivatives of the price jump where G is the strike.
 */
export function closedForm(contract: Contract): Values {
  const { spot, strike, volatility, maturity } = contract;
  const { sign, discount, meanTime, deviation, drift, spread } = lawOf(contract);
  const forward = spot * exp(drift + 0.5 * spread * spread);
  // Probability of ending in the money, under the pricing measure and under that with G as numéraire.
  const distance =
    spread > 0 ? (ln(spot) - (strike > 0 ? ln(strike) : Number.NEGATIVE_INFINITY) + drift) / spread : 0;
  const certain = forward === strike ? 0 : sign * (forward - strike) > 0 ? 1 : 0;
  const likely = spread > 0 ? cumulative(sign * distance) : certain;
  const tilted = spread > 0 ? cumulative(sign * (distance + spread)) : certain;
  const price = Math.max(0, discount * sign * (forward * tilted - strike * likely));
  if (spread === 0 && forward === strike) return { price, delta: null, gamma: null, vega: null, rho: null };
  const atTilted = spread > 0 ? density(distance + spread) : 0;
  // ∂ ln(forward)/∂volatility is not 0 for a mean of several fixings.
  const forwardVega = forward * volatility * (deviation * deviation - meanTime);
  return {
    price,
    delta: (discount * sign * forward * tilted) / spot,
    gamma: spread > 0 ? (discount * forward * atTilted) / (spot * spot * spread) : 0,
    vega: discount * (forward * atTilted * deviation + sign * tilted * forwardVega),
    rho: discount * sign * (meanTime * forward * tilted) - maturity * price,
  };
}

/** φ(x). */
const density = (x: number): number => 0.3989422804014327 * exp(-0.5 * x * x);

/** Φ(x) to about 15 digits: a power series near the middle, in the tails Laplace's continued fraction. */
export function cumulative(x: number): number {
  if (Math.abs(x) > 4) return x > 0 ? 1 - upperTail(x) : upperTail(-x);
  let term = x;
  let sum = x;
  for (let n = 3; Math.abs(term) > 1e-18; n += 2) {
    term *= (x * x) / n;
    sum += term;
  }
  return 0.5 + density(x) * sum;
}

/** 1 - Φ(x) for x > 4. */
function upperTail(x: number): number {
  if (x === Number.POSITIVE_INFINITY) return 0;
  let fraction = x;
  for (let n = 60; n > 0; n--) fraction = x + n / fraction;
  return density(x) / fraction;
}
