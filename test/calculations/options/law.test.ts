import { describe, expect, test } from "vitest";
import { type Contract, closedForm } from "../../../src/calculations/options/law.ts";

const contract: Contract = {
  kind: "call",
  spot: 100,
  strike: 100,
  rate: 0.05,
  dividend: 0,
  volatility: 0.2,
  maturity: 1,
  steps: 1,
};
const exact = (change: Partial<Contract>) => closedForm({ ...contract, ...change });

/**
 * By mpmath 1.3 with 60 digits, without the closed form: the payoff integrated over the density of ln G,
 * whose variance is the sum of min(s, t) over all pairs of fixings, and central differences of that.
 */
const integrated: readonly [Contract, Record<string, number>][] = [
  [
    { kind: "call", spot: 42, strike: 40, rate: 0.1, dividend: 0, volatility: 0.2, maturity: 0.5, steps: 1 },
    {
      price: 4.759422392872,
      delta: 0.7791312909427,
      gamma: 0.04996267040591,
      vega: 8.813415059603,
      rho: 13.98204591336,
    },
  ],
  [
    { kind: "put", spot: 42, strike: 40, rate: 0.1, dividend: 0, volatility: 0.2, maturity: 0.5, steps: 1 },
    {
      price: 0.8085993729001,
      delta: -0.2208687090573,
      gamma: 0.04996267040591,
      vega: 8.813415059603,
      rho: -5.042542576654,
    },
  ],
  [
    {
      kind: "call",
      spot: 100,
      strike: 130,
      rate: 0.02,
      dividend: 0.04,
      volatility: 0.35,
      maturity: 2,
      steps: 9,
    },
    {
      price: 8.662866716258,
      delta: 0.3306235931068,
      gamma: 0.006964823956704,
      vega: 48.75376769693,
      rho: 48.79898518884,
    },
  ],
  [
    {
      kind: "put",
      spot: 90,
      strike: 250,
      rate: -0.01,
      dividend: 0.03,
      volatility: 0.6,
      maturity: 5,
      steps: 1,
    },
    {
      price: 201.7943120818,
      delta: -0.5118939366714,
      gamma: 0.002763160093133,
      vega: 67.14479026313,
      rho: -1239.323831911,
    },
  ],
  [
    {
      kind: "asian-call",
      spot: 100,
      strike: 100,
      rate: 0.06,
      dividend: 0.03,
      volatility: 0.2,
      maturity: 1,
      steps: 10,
    },
    {
      price: 5.342560663499,
      delta: 0.5409539759403,
      gamma: 0.03024582933395,
      vega: 21.50414046654,
      rho: 24.40990801322,
    },
  ],
  [
    {
      kind: "asian-put",
      spot: 100,
      strike: 110,
      rate: 0.05,
      dividend: 0.01,
      volatility: 0.3,
      maturity: 2,
      steps: 7,
    },
    {
      price: 13.78384183713,
      delta: -0.5044608290821,
      gamma: 0.01366643540531,
      vega: 38.41047850196,
      rho: -85.22034985507,
    },
  ],
  [
    {
      kind: "asian-call",
      spot: 50,
      strike: 45,
      rate: 0.01,
      dividend: 0.02,
      volatility: 0.45,
      maturity: 0.75,
      steps: 52,
    },
    {
      price: 6.638980602893,
      delta: 0.6763057390808,
      gamma: 0.03006552189823,
      vega: 6.800006182858,
      rho: 7.945357398052,
    },
  ],
  [
    {
      kind: "asian-put",
      spot: 80,
      strike: 60,
      rate: 0.08,
      dividend: 0,
      volatility: 0.9,
      maturity: 3,
      steps: 3,
    },
    {
      price: 16.49943219948,
      delta: -0.1634142697199,
      gamma: 0.002487950327058,
      vega: 27.52129156148,
      rho: -75.64457975361,
    },
  ],
];

describe("the closed form", () => {
  test.each(integrated)("the closed form of %o is the integral", (one, values) => {
    const found = exact(one) as unknown as Record<string, number>;
    for (const [name, value] of Object.entries(values)) {
      expect(Math.abs((found[name] as number) / value - 1), name).toBeLessThan(1e-11);
    }
  });

  test("the closed form gives published prices", () => {
    // Hull, "Options, futures, and other derivatives", the example of the chapter on Black-Scholes-Merton.
    const hull = { spot: 42, strike: 40, rate: 0.1, volatility: 0.2, maturity: 0.5 };
    expect(exact({ ...hull, kind: "call" }).price).toBeCloseTo(4.76, 2);
    expect(exact({ ...hull, kind: "put" }).price).toBeCloseTo(0.81, 2);
    // Clewlow and Strickland, "Implementing derivative models", p. 118-123, with the digits of QuantLib's
    // test suite.
    const fixings = { kind: "asian-call", rate: 0.06, dividend: 0.03, steps: 10 } as const;
    expect(exact(fixings).price).toBeCloseTo(5.3425606635, 10);
  });

  test("the closed form keeps put-call parity", () => {
    for (const [one] of integrated) {
      const asian = one.kind.startsWith("asian");
      const call = exact({ ...one, kind: asian ? "asian-call" : "call" });
      const put = exact({ ...one, kind: asian ? "asian-put" : "put" });
      const free = exact({ ...one, kind: asian ? "asian-call" : "call", strike: 0 });
      const discounted = one.strike * Math.exp(-one.rate * one.maturity);
      expect(call.price - put.price).toBeCloseTo(free.price - discounted, 10);
      expect(call.gamma).toBeCloseTo(put.gamma as number, 12);
    }
  });

  const discounted = 100 * Math.exp(-0.05);
  test.each<[string, Partial<Contract>, object]>([
    [
      "volatility 0, in the money",
      { volatility: 0 },
      { price: 100 - discounted, delta: 1, gamma: 0, vega: 0, rho: discounted },
    ],
    [
      "volatility 0, out of the money",
      { volatility: 0, kind: "put" },
      { price: 0, delta: -0, gamma: 0, vega: 0, rho: 0 },
    ],
    [
      "volatility 0, at the kink",
      { volatility: 0, rate: 0 },
      { price: 0, delta: null, gamma: null, vega: null, rho: null },
    ],
    [
      "maturity 0, in the money",
      { maturity: 0, spot: 130 },
      { price: 30, delta: 1, gamma: 0, vega: 0, rho: 0 },
    ],
    [
      "maturity 0, a put",
      { maturity: 0, spot: 70, kind: "asian-put" },
      { price: 30, delta: -1, gamma: 0, vega: 0, rho: 0 },
    ],
    [
      "maturity 0, at the kink",
      { maturity: 0 },
      { price: 0, delta: null, gamma: null, vega: null, rho: null },
    ],
    ["strike 0", { strike: 0 }, { price: 100, delta: 1, gamma: 0, vega: 0, rho: 0 }],
    ["strike 0, a put", { strike: 0, kind: "put" }, { price: 0, delta: 0, gamma: 0, vega: 0, rho: 0 }],
  ])("is defined for %s", (_what, change, values) => {
    for (const [name, value] of Object.entries(values)) {
      const found = (exact(change) as unknown as Record<string, number | null>)[name];
      if (value === null) expect(found, name).toBeNull();
      else expect(found, name).toBeCloseTo(value, 10);
    }
  });
});
