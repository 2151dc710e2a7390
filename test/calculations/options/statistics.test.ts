import { describe, expect, test } from "vitest";
import { type Contract, closedForm, type Values } from "../../../src/calculations/options/law.ts";
import { estimates } from "../../../src/calculations/options/moments.ts";
import { pathKernel, simulate } from "../../../src/calculations/options/simulate.ts";

/** `LEASEFOLD_FULL=1` takes fifty times as many paths. */
const paths = (process.env["LEASEFOLD_FULL"] === "1" ? 50 : 1) * 4_000;
const seeds = 200;
const market = { spot: 100, rate: 0.05, dividend: 0.02, volatility: 0.3, maturity: 0.75, steps: 5 };
const cases: readonly (Contract & { readonly antithetic: boolean })[] = [
  { ...market, kind: "call", strike: 105, antithetic: false },
  { ...market, kind: "put", strike: 105, antithetic: true },
  { ...market, kind: "asian-call", strike: 95, antithetic: true },
  { ...market, kind: "asian-put", strike: 100, antithetic: false },
];
const names = ["price", "delta", "gamma", "vega", "rho"] as const;

/** Standard errors between each estimate and the closed form, over all seeds. */
function scores(contract: Contract & { antithetic: boolean }): Record<keyof Values, number[]> {
  const exact = closedForm(contract);
  const found: Record<keyof Values, number[]> = { price: [], delta: [], gamma: [], vega: [], rho: [] };
  const perSample = contract.antithetic ? 2 : 1;
  for (let seed = 1; seed <= seeds; seed++) {
    const size = { samples: paths / perSample, antithetic: contract.antithetic };
    const sampled = estimates(
      contract,
      simulate(pathKernel(), contract, { seed, chunk: seed % 7 }, size),
      perSample,
    );
    for (const name of names) {
      const { value, standardError } = sampled[name];
      found[name].push(((value ?? 0) - (exact[name] ?? 0)) / (standardError ?? 0));
    }
  }
  return found;
}

describe(`over ${seeds} seeds of ${paths} paths`, () => {
  const all = cases.map(scores);

  test("every price is within 4 standard errors of the closed form", () => {
    for (const { price } of all) expect(Math.max(...price.map(Math.abs))).toBeLessThan(4);
  });

  test.each(names)("%s is within its 95 % interval in 91 %% to 98 %% of them", (name) => {
    const inside = all.flatMap((one) => one[name]).filter((score) => Math.abs(score) < 1.959964);
    const share = inside.length / (seeds * cases.length);
    expect(share).toBeGreaterThan(0.91);
    expect(share).toBeLessThan(0.98);
  });

  test.each(names)("%s is unbiased", (name) => {
    for (const one of all) {
      const mean = one[name].reduce((sum, score) => sum + score, 0) / seeds;
      expect(Math.abs(mean) * Math.sqrt(seeds)).toBeLessThan(4);
      expect(Math.max(...one[name].map(Math.abs))).toBeLessThan(5);
    }
  });
});
