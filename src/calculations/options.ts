import * as z from "zod";
import { defineCalculation, type JsonValue } from "../engine/calculation/contract.ts";
import { ln, quantileFromMiddle } from "./options/kernel.ts";
import { closedForm, lawOf, type Values } from "./options/law.ts";
import {
  type Estimate,
  estimates,
  type Moments,
  mergeMoments,
  momentsCodec,
  noMoments,
} from "./options/moments.ts";
import { pathKernel, simulate } from "./options/simulate.ts";

/** Bounds within which no intermediate value, nor the square of a payoff, leaves the range of doubles. */
const [least, most] = [1e-6, 1e12];
const number = z.coerce.number();
const zeroOr = (max: number) =>
  number.max(max).refine((x) => x === 0 || x >= least, { error: `must be 0 or at least ${least}` });
const perYear = () => number.min(-1).max(1);

const params = z
  .strictObject({
    kind: z
      .enum(["call", "put", "asian-call", "asian-put"])
      .default("call")
      .describe("European call or put; asian: on the geometric mean of the fixings"),
    spot: number.min(least).max(most).default(100).describe("price of the underlying today"),
    strike: zeroOr(most).default(100).describe("strike price"),
    rate: perYear().default(0.05).describe("riskless rate a year, continuously compounded: 0.05 is 5 %"),
    dividend: perYear().default(0).describe("dividend yield a year, continuously compounded"),
    volatility: zeroOr(10).default(0.2).describe("volatility a year: 0.2 is 20 %"),
    maturity: zeroOr(100).default(1).describe("years to maturity"),
    steps: number.int().min(1).max(1000).default(12).describe("fixings of an Asian option, equally spaced"),
    paths: number.int().min(0).max(1e10).default(1e7).describe("paths to simulate, antithetic ones included"),
    antithetic: z.boolean().default(false).describe("simulate each path with the opposite normals too"),
    seed: number.int().min(0).max(Number.MAX_SAFE_INTEGER).default(1).describe("seed of the paths"),
    targetError: number
      .min(0)
      .default(0)
      .describe(
        "the run stops once the standard error of the price is at most this; 0: it simulates all paths",
      ),
    confidence: number.min(0.5).max(0.9999).default(0.95).describe("level of the confidence interval"),
  })
  .refine(({ antithetic, paths }) => !antithetic || paths % 2 === 0, {
    path: ["paths"],
    error: "must be even if paths are antithetic",
  });
type Params = z.infer<typeof params>;

/**
 * Prices an option by Monte Carlo in the model of Black and Scholes, with its derivatives by spot, volatility
 * and rate, beside the exact values. A partial is a set of exact sums, so that the answer's bits depend on
 * the parameters only.
 */
export const options = defineCalculation<Params, undefined, Moments>({
  name: "options",
  version: "2",
  summary: "Prices a European or geometric Asian option by Monte Carlo, with greeks and standard errors.",
  params,
  plan: (params) => cut(params).count,
  compute({ index, params }) {
    const { stride, samples } = cut(params);
    const size = { samples: Math.min(stride, samples - index * stride), antithetic: params.antithetic };
    return simulate(pathKernel(), params, { seed: params.seed, chunk: index }, size);
  },
  merge: mergeMoments,
  zero: noMoments,
  codec: momentsCodec,
  stops: ({ targetError }) => targetError > 0,
  stop(moments, { params }) {
    const { standardError } = estimates(params, moments, pathsPerSample(params)).price;
    return standardError !== null && standardError <= params.targetError;
  },
  finish: (moments, { params }) => answer(params, moments),
});

/** A quarter of a million normals take about 25 ms, eight million less than a second. */
const chunkNormals = { min: 2 ** 18, max: 2 ** 23 };
const chunksWanted = 4_000;

/** Samples in all and in each chunk but the last; none if nothing is random. */
function cut(params: Params): { samples: number; stride: number; count: number } {
  const { spread, fixings } = lawOf(params);
  const samples = spread === 0 ? 0 : params.paths / pathsPerSample(params);
  const normals = Math.min(chunkNormals.max, Math.max(chunkNormals.min, (samples * fixings) / chunksWanted));
  const stride = Math.ceil(normals / fixings);
  return { samples, stride, count: Math.ceil(samples / stride) };
}

const pathsPerSample = ({ antithetic }: Params): number => (antithetic ? 2 : 1);

function answer(params: Params, moments: Moments): JsonValue {
  const exact = closedForm(params);
  const certain = lawOf(params).spread === 0;
  const sampled = certain ? certainEstimates(exact) : estimates(params, moments, pathsPerSample(params));
  const { value: price, standardError } = sampled.price;
  const greek = (name: keyof Values): JsonValue => ({ ...sampled[name], closedForm: exact[name] });
  return {
    kind: params.kind,
    price,
    standardError,
    interval: interval(sampled.price, params.confidence),
    closedForm: exact.price,
    /** Standard errors between the price and the closed form. */
    zScore: price !== null && standardError ? (price - exact.price) / standardError : null,
    greeks: { delta: greek("delta"), gamma: greek("gamma"), vega: greek("vega"), rho: greek("rho") },
    paths: moments.samples * pathsPerSample(params),
    pathsAsked: params.paths,
    ...noteOf(moments, certain, params.confidence),
  };
}

function noteOf({ samples, hits }: Moments, certain: boolean, level: number): { note?: string } {
  if (certain) return { note: "nothing is random without volatility or time: the price is certain" };
  if (samples === 0 || hits > 0) return {};
  // The rule of three, for any level: a share p shows in none of n samples with probability (1 - p)^n <= e^(-pn).
  const share = Math.min(1, -ln(1 - level) / samples).toPrecision(2);
  return {
    note: `no path ended in the money, so the error is unknown; with confidence ${level} at most a share of ${share} of all paths does`,
  };
}

const certainEstimates = (exact: Values): Readonly<Record<keyof Values, Estimate>> => {
  const of = (value: number | null): Estimate => ({ value, standardError: value === null ? null : 0 });
  const { price, delta, gamma, vega, rho } = exact;
  return { price: of(price), delta: of(delta), gamma: of(gamma), vega: of(vega), rho: of(rho) };
};

/** Confidence interval by the normal distribution of the mean of many paths; too narrow for fewer than about 30. */
function interval({ value, standardError }: Estimate, level: number): JsonValue {
  if (value === null || standardError === null) return null;
  const half = quantileFromMiddle(level / 2) * standardError;
  return { level, low: value - half, high: value + half };
}
