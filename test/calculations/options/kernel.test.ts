import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileKernel } from "../../../scripts/compileKernel.mjs";
import { instantiate } from "../../../src/calculations/loadKernel.ts";
import { blockNormals, type PathLoops } from "../../../src/calculations/options/kernel.ts";
import type { Contract } from "../../../src/calculations/options/law.ts";
import { momentsCodec } from "../../../src/calculations/options/moments.ts";
import {
  type PathKernel,
  pathKernel,
  type Stream,
  simulate,
} from "../../../src/calculations/options/simulate.ts";
import { javaScriptPaths } from "../reference/paths/javaScriptPaths.ts";
import { quantileFromMiddle } from "../reference/paths/quantiles.ts";
import { threefryAnswers } from "./threefryAnswers.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const wasm = await compileKernel("options");
const compiled = pathKernel(instantiate<PathLoops>(wasm));
const reference = javaScriptPaths();

interface Case {
  readonly contract: Contract;
  readonly stream: Stream;
  readonly samples: number;
  readonly antithetic: boolean;
}
const momentsBy = (kernel: PathKernel, { contract, stream, ...size }: Case): string =>
  new TextDecoder().decode(momentsCodec.encode(simulate(kernel, contract, stream, size)) as Uint8Array);
const agree = (one: Case): void => {
  expect(momentsBy(compiled, one)).toBe(momentsBy(reference, one));
};

/** As many of each power of ten. */
const powerOfTen = (min: number, max: number) =>
  fc.double({ min, max, noNaN: true }).map((power) => 10 ** power);
const zeroOr = (max: number) => fc.oneof(fc.constantFrom(0, 1e-6), powerOfTen(-6, max));
const usual = fc.record({
  kind: fc.constantFrom<Contract["kind"][]>("call", "put", "asian-call", "asian-put"),
  spot: fc.double({ min: 50, max: 200, noNaN: true }),
  strike: fc.double({ min: 50, max: 200, noNaN: true }),
  rate: fc.double({ min: -0.1, max: 0.1, noNaN: true }),
  dividend: fc.double({ min: -0.1, max: 0.1, noNaN: true }),
  volatility: fc.double({ min: 0.01, max: 1, noNaN: true }),
  maturity: fc.double({ min: 0.01, max: 5, noNaN: true }),
  steps: fc.integer({ min: 1, max: 60 }),
});
/** Anything that parameters may say. */
const allowed = fc.record({
  kind: fc.constantFrom<Contract["kind"][]>("call", "put", "asian-call", "asian-put"),
  spot: powerOfTen(-6, 12),
  strike: zeroOr(12),
  rate: fc.double({ min: -1, max: 1, noNaN: true }),
  dividend: fc.double({ min: -1, max: 1, noNaN: true }),
  volatility: zeroOr(1),
  maturity: zeroOr(2),
  steps: fc.integer({ min: 1, max: 1000 }),
});
const cases = fc.record({
  contract: fc.oneof(usual, allowed),
  stream: fc.record({ seed: fc.maxSafeNat(), chunk: fc.nat({ max: 1e7 }) }),
  samples: fc.oneof(
    fc.constantFrom(0, 1, 2, 3, blockNormals - 1, blockNormals, blockNormals + 1),
    fc.nat({ max: 3_000 }),
  ),
  antithetic: fc.boolean(),
});

describe("the WebAssembly kernel of the simulation and its reference in JavaScript", () => {
  test("the kernel and its reference agree to the last bit on random options", {
    timeout: full ? 600_000 : 30_000,
  }, () => {
    fc.assert(fc.property(cases, agree), { numRuns: full ? 3_000 : 100 });
  });

  const one: Case = {
    contract: {
      kind: "call",
      spot: 100,
      strike: 100,
      rate: 0.05,
      dividend: 0,
      volatility: 0.2,
      maturity: 1,
      steps: 12,
    },
    stream: { seed: 2 ** 53 - 1, chunk: 10_000_000 },
    samples: 2_049,
    antithetic: false,
  };
  test.each<[string, Partial<Contract>]>([
    ["volatility 0", { volatility: 0 }],
    ["hardly any volatility", { volatility: 1e-6 }],
    ["so much that the exponential is 0", { volatility: 10, maturity: 100 }],
    ["so much that payoffs lie far apart", { volatility: 10, maturity: 1 }],
    ["the exponential between the smallest doubles and 0", { rate: -1, volatility: 3.4, maturity: 100 }],
    ["the exponential beyond the doubles", { rate: 20, volatility: 1e-6, maturity: 100 }],
    ["the exponential near where it ends", { rate: 7.0975, volatility: 0.001, maturity: 100 }],
    [
      "payoffs near the largest doubles",
      { spot: 1, strike: 1, rate: 7.04, volatility: 0.001, maturity: 100 },
    ],
    ["payoffs whose squares are beyond the doubles", { rate: 5, volatility: 0.1, maturity: 100 }],
    ["payoffs whose squares are too small for a scale", { spot: 1e-150, strike: 1e-150 }],
    ["payoffs whose squares are no normal doubles", { spot: 1e-158, strike: 1e-158 }],
    ["strike 0", { strike: 0 }],
    ["far in the money", { spot: 1e12, strike: 1e-6 }],
    ["far out of the money", { spot: 1e-6, strike: 1e12 }],
    ["a few paths in the money", { strike: 190 }],
  ])("the kernel and its reference agree with %s", (_what, change) => {
    for (const antithetic of [false, true]) {
      for (const kind of ["call", "put", "asian-call", "asian-put"] as const) {
        agree({ ...one, contract: { ...one.contract, ...change, kind }, antithetic });
      }
    }
  });
});

describe("the loops of the compiled kernel", () => {
  const loops = instantiate<PathLoops>(wasm);
  const normals = new Float64Array(loops.memory.buffer, loops.normals.value, blockNormals);

  test.each(threefryAnswers)(
    "fractions of counter %s and key %s have the published bits",
    (counter, key, answer) => {
      const words = (text: string): number[] => text.split(" ").map((word) => Number.parseInt(word, 16));
      loops.fractions(2, ...words(key), ...words(counter));
      const upper52 = (top: number, low: number): bigint => (BigInt(top) << 20n) + BigInt(low >>> 12);
      const [a = 0, b = 0, c = 0, d = 0] = words(answer);
      // The middle of a cell of 2^-52, from -1/2 on, where the top word is read with its sign.
      const bits = Array.from(normals.subarray(0, 2), (q) =>
        BigInt.asUintN(52, BigInt(q * 2 ** 53 - 1) / 2n),
      );
      expect(bits).toEqual([upper52(a, b), upper52(c, d)]);
    },
  );

  test("quantiles agree with the reference, also at the ends and around the borders", () => {
    const ends = [0.425, 0.425 + 2 ** -54, 2 ** -53, 0.5 - 2 ** -53, 0.5 - 2 ** -52];
    // Beyond r = 5 the quantile is another function.
    const far = [Math.exp(-25), Math.exp(-25) * (1 + 1e-9), Math.exp(-25) * (1 - 1e-9), 1e-13, 1e-15];
    const values = [...ends, ...far.map((p) => 0.5 - p)].flatMap((q) => [q, -q]);
    for (let length = 0; length <= blockNormals; length += length < 40 ? 1 : 123) {
      const block = Array.from({ length }, (_, i) => values[(i * 7 + length) % values.length] as number);
      normals.set(block);
      loops.quantiles(length);
      expect([...normals.subarray(0, length)]).toEqual(block.map(quantileFromMiddle));
    }
  });
});
