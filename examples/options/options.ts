import { defineCalculation, exactSum, portableMath, randomStream, z } from "leasefold";

const pathsPerChunk = 100_000;

/**
 * Price of a European option in the model of Black and Scholes: the discounted mean of what it pays on random paths. Sums are
 * exact and random numbers depend on seed and chunk alone, so that the price has the same bits in any order of computation.
 */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "options",
  summary: "prices a European option by Monte Carlo, with its standard error",
  params: z.strictObject({
    kind: z.enum(["call", "put"]).default("call"),
    spot: z.coerce.number().min(1e-6).max(1e12).default(100).describe("price of the underlying today"),
    strike: z.coerce.number().min(0).max(1e12).default(100),
    rate: z.coerce.number().min(-1).max(1).default(0.05).describe("riskless rate a year: 0.05 is 5 %"),
    volatility: z.coerce.number().min(0).max(10).default(0.2).describe("a year: 0.2 is 20 %"),
    maturity: z.coerce.number().min(0).max(100).default(1).describe("years to maturity"),
    paths: z.coerce.number().int().min(1).max(1e10).default(1e7),
    seed: z.coerce.number().int().min(0).default(1),
    targetError: z.coerce.number().min(0).default(0).describe("stop at this standard error; 0: never"),
  }),
  plan: ({ paths }) => Math.ceil(paths / pathsPerChunk),
  compute({ index, params: { kind, spot, strike, rate, volatility, maturity, paths, seed } }) {
    const random = randomStream(seed, index);
    const [sum, squares] = [exactSum(), exactSum()];
    const count = Math.min(pathsPerChunk, paths - index * pathsPerChunk);
    const drift = (rate - (volatility * volatility) / 2) * maturity;
    const spread = volatility * Math.sqrt(maturity);
    for (let path = 0; path < count; path += 1) {
      const end = spot * portableMath.exp(drift + spread * random.normal());
      const payoff = Math.max(0, kind === "call" ? end - strike : strike - end);
      sum.add(payoff);
      squares.add(payoff * payoff);
    }
    return { paths: count, sum: sum.encode(), squares: squares.encode() };
  },
  merge: (a, b) => ({
    paths: a.paths + b.paths,
    sum: added(a.sum, b.sum),
    squares: added(a.squares, b.squares),
  }),
  zero: () => ({ paths: 0, sum: exactSum().encode(), squares: exactSum().encode() }),
  stops: ({ targetError }) => targetError > 0,
  stop(moments, { params }) {
    const { standardError } = estimate(moments, params);
    return standardError !== null && standardError <= params.targetError;
  },
  finish: (moments, { params }) => ({ ...estimate(moments, params), paths: moments.paths }),
});

interface Moments {
  readonly paths: number;
  /** Of the payoffs and of their squares, as encoded exact sums. */
  readonly sum: string;
  readonly squares: string;
}

function added(a: string, b: string): string {
  const sum = exactSum(a);
  sum.merge(exactSum(b));
  return sum.encode();
}

function estimate({ paths, ...sums }: Moments, { rate, maturity }: { rate: number; maturity: number }) {
  if (paths < 2) return { price: null, standardError: null };
  const [sum, squares] = [exactSum(sums.sum).value(), exactSum(sums.squares).value()];
  const discount = portableMath.exp(-rate * maturity);
  const variance = Math.max(0, squares - (sum * sum) / paths) / (paths - 1);
  return { price: (discount * sum) / paths, standardError: discount * Math.sqrt(variance / paths) };
}
