import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { options } from "../../src/calculations/options.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { parseParams } from "../../src/engine/calculation/params.ts";
import { runCompute, runFinish } from "../../src/engine/calculation/runJob.ts";
import { computePart, foldPart } from "../support/coveringParts.ts";

interface Answer {
  readonly price: number;
  readonly standardError: number;
  readonly interval: { readonly level: number; readonly low: number; readonly high: number };
  readonly zScore: number;
  readonly greeks: Readonly<Record<string, { value: number; standardError: number; closedForm: number }>>;
  readonly paths: number;
  readonly pathsAsked: number;
  readonly note?: string;
}
const parse = (bytes: Uint8Array): Answer => JSON.parse(Buffer.from(bytes).toString());
const params = (raw: object) => parseParams(options, raw);
const price = async (raw: object): Promise<Answer> => parse((await runSerially(options, params(raw))).body);

describe("an option's price", () => {
  test("the result of options has the same bytes for any packs and any tree of folds", async () => {
    const all = params({ kind: "asian-put", steps: 1000, paths: 2000, antithetic: true });
    const { body, chunks } = await runSerially(options, all);
    expect(chunks).toBe(4);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: chunks - 1 })),
        fc.array(fc.nat()),
        async (cuts, joins) => {
          const borders = [...new Set([0, ...cuts, chunks])].sort((a, b) => a - b);
          const parts: CoveringPart[] = [];
          for (let i = 1; i < borders.length; i++) {
            const [from = 0, to = 0] = borders.slice(i - 1);
            parts.push(await computePart(options, { params: all, from, to, count: chunks }));
          }
          for (const join of joins) {
            const at = join % parts.length;
            const two = parts.slice(at, at + 2) as [CoveringPart];
            parts.splice(at, 2, await foldPart(options, all, two));
          }
          const finished = await runFinish(options, { params: all, parts, folded: chunks, count: chunks });
          expect(Buffer.from(finished.body).toString()).toBe(Buffer.from(body).toString());
        },
      ),
      { numRuns: 6 },
    );
  });

  test("the bits of a partial are pinned, because users would see another stream of paths", async () => {
    const partial = await runCompute(options, {
      params: params({ seed: 2 ** 40 + 7 }),
      from: 3,
      to: 4,
      count: 39,
    });
    expect(JSON.parse(Buffer.from(partial).toString())).toEqual([
      262144,
      146414,
      146414,
      "af23be29a07f00021p-46",
      "b3185d7d0b0ff96f682727ededp-77",
      "af23be29a07f00021p-46",
      "649a2ddc29dbeb0fcf7309p-70",
      "7f7e38e5cafc5f14aef813a19a7p-90",
      "4e849472c4d54d1196a97bp-63",
      "7a516eede330f535c5e9f0c87877p-80",
    ]);
  });

  test("the interval narrows while the run works, and the result names the number of paths so far", async () => {
    const all = params({ paths: 1_000_000 });
    const parts = [0, 1, 2, 3].map((from) =>
      computePart(options, { params: all, from, to: from + 1, count: 4 }),
    );
    const done = await Promise.all(parts);
    const widths: number[] = [];
    for (let folded = 1; folded <= 4; folded++) {
      const soFar = { params: all, parts: done.slice(0, folded), folded, count: 4 };
      const { interval, paths, pathsAsked, zScore } = parse((await runFinish(options, soFar)).body);
      expect({ paths, pathsAsked }).toEqual({ paths: Math.min(folded * 2 ** 18, 1e6), pathsAsked: 1e6 });
      expect(Math.abs(zScore)).toBeLessThan(4);
      widths.push((interval.high - interval.low) * Math.sqrt(paths));
    }
    for (const width of widths) expect(width / (widths[0] as number)).toBeCloseTo(1, 1);
  });

  test("simulated prices keep put-call parity path by path", async () => {
    for (const raw of [{ paths: 5000 }, { paths: 4000, antithetic: true }]) {
      const [call, put] = [await price({ ...raw, kind: "call" }), await price({ ...raw, kind: "put" })];
      const deltas = (call.greeks["delta"]?.value ?? 0) - (put.greeks["delta"]?.value ?? 0);
      expect(call.price - put.price).toBeCloseTo(100 * deltas - 100 * Math.exp(-0.05), 10);
    }
  });

  test("antithetic paths give a smaller error than as many plain paths", async () => {
    const plain = await price({ paths: 20_000 });
    const both = await price({ paths: 20_000, antithetic: true });
    expect(both.paths).toBe(20_000);
    expect(both.standardError).toBeLessThan(0.75 * plain.standardError);
  });

  test("a price of one path has no error, and no paths give no price", async () => {
    expect(await price({ paths: 1, strike: 0 })).toMatchObject({
      price: expect.any(Number),
      standardError: null,
      interval: null,
    });
    expect(await price({ paths: 0 })).toMatchObject({
      price: null,
      standardError: null,
      zScore: null,
      paths: 0,
    });
  });

  test("a price that no path pays claims no certainty, but bounds how many paths may pay", async () => {
    const raw = { strike: 1e6, paths: 10_000 };
    const answer = await price(raw);
    const note = (level: number, share: string) =>
      `no path ended in the money, so the error is unknown; with confidence ${level} at most a share of ${share} of all paths does`;
    const none = { value: 0, standardError: null };
    expect(answer).toMatchObject({
      ...{ price: 0, standardError: null, interval: null, zScore: null, note: note(0.95, "0.00030") },
      greeks: { delta: none, gamma: none, vega: none, rho: none },
    });
    // Opposite paths are not independent, so that only pairs count.
    expect(await price({ ...raw, antithetic: true })).toMatchObject({ note: note(0.95, "0.00060") });
    expect(await price({ ...raw, confidence: 0.99, paths: 1 })).toMatchObject({ note: note(0.99, "1.0") });
    expect(await price({ ...raw, strike: 100 })).not.toHaveProperty("note");
    expect(await price({ ...raw, paths: 0 })).not.toHaveProperty("note");
  });

  test.each([
    [{ volatility: 0 }, 4.877057549928599],
    [{ maturity: 0, spot: 120 }, 20],
    [{ maturity: 0, kind: "asian-put" }, 0],
  ])("the price with %j is certain, and no path is simulated", async (raw, value) => {
    const answer = await price({ ...raw, paths: 1e10 });
    expect(answer.price).toBeCloseTo(value, 12);
    expect(answer).toMatchObject({
      standardError: 0,
      paths: 0,
      pathsAsked: 1e10,
      note: expect.stringMatching(/certain/),
    });
  });

  test.each([
    [{ strike: 0 }],
    [{ spot: 1e12, strike: 1e-6, rate: 1, volatility: 1, maturity: 100 }],
    [{ spot: 1e12, strike: 1e-6, rate: 1, volatility: 10, maturity: 100 }],
    [{ spot: 1e-6, strike: 1e12, rate: -1, volatility: 10, maturity: 100, kind: "put" }],
    [{ spot: 1e-6, strike: 1e12, rate: -1, volatility: 1e-6, maturity: 1e-6, kind: "put" }],
    [
      {
        spot: 1e12,
        strike: 1e12,
        rate: 1,
        dividend: -1,
        volatility: 1,
        maturity: 100,
        kind: "asian-call",
        steps: 1000,
      },
    ],
  ])("the price with %j is a number", async (raw) => {
    for (const antithetic of [false, true]) {
      const answer = await price({ ...raw, antithetic, paths: 1000 });
      const { note, price: value, standardError, greeks } = answer;
      for (const one of [{ value, standardError }, ...Object.values(greeks)]) {
        expect(Number.isFinite(one.value)).toBe(true);
        // Of the highest volatility no path ends in the money.
        expect(Number.isFinite(one.standardError)).toBe(note === undefined);
      }
    }
  });

  test.each([
    [{ volatility: -0.1 }, /^volatility: must be 0 or at least 0.000001$/],
    [{ volatility: 1e-9 }, /^volatility: must be 0 or at least 0.000001$/],
    [{ volatility: 11 }, /^volatility: .*10/],
    [{ maturity: -1 }, /^maturity: must be 0 or at least 0.000001$/],
    [{ spot: 0 }, /^spot: .*0.000001/],
    [{ spot: 1e13 }, /^spot: .*1000000000000/],
    [{ strike: -1 }, /^strike: must be 0/],
    [{ rate: 5 }, /^rate: .*1/],
    [{ paths: 1e11 }, /^paths: .*10000000000/],
    [{ paths: 1.5 }, /^paths: /],
    [{ paths: 3, antithetic: true }, /^paths: must be even/],
    [{ steps: 0 }, /^steps: /],
    [{ kind: "american" }, /^kind: /],
    [{ confidence: 1 }, /^confidence: /],
    [{ spot: "many" }, /^spot: /],
  ])("the parameters %j are refused with the rule", (raw, message) => {
    expect(() => params(raw)).toThrow(message);
  });

  test("a run of options has at most ten million chunks", () => {
    const chunks = (raw: object) => options.plan(params(raw) as never, {} as never);
    expect(chunks({ paths: 1e10, steps: 1000, kind: "asian-call" })).toBeLessThan(1e7);
    expect(chunks({ paths: 1e10 })).toBe(4_000);
    expect(chunks({ paths: 1e7 })).toBe(39);
  });
});
