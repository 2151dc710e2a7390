import fc from "fast-check";
import { expect, test } from "vitest";
import { histogramOf } from "../../src/engine/client/inspection/durations.ts";
import { countOf, stepText } from "../../src/engine/model/figures.ts";

test("a noun stands in the plural unless there is one of it", () => {
  expect([0, 1, 2, 1_234].map((value) => countOf(value, "pack"))).toEqual([
    ...["0 packs", "1 pack", "2 packs", "1,234 packs"],
  ]);
});

test("times a step apart are told apart, however small the step is against them", () => {
  expect(stepText(950, 50)).toBe("950 ms");
  expect([10_000, 10_050].map((ms) => stepText(ms, 50))).toEqual(["10.00 s", "10.05 s"]);
  expect([60_000, 65_000].map((ms) => stepText(ms, 5_000))).toEqual(["1 min", "1 min 5 s"]);
  expect([7_200_000, 7_205_000].map((ms) => stepText(ms, 5_000))).toEqual(["7200 s", "7205 s"]);
});

test("no two bars of a histogram have the same title", () => {
  const ms = fc.integer({ min: 0, max: 20_000_000 });
  const times = fc
    .tuple(ms, fc.array(fc.integer({ min: 0, max: 3_000_000 }), { minLength: 1, maxLength: 30 }))
    .map(([least, more]) => [least, ...more.map((one) => least + one)].sort((a, b) => a - b));
  fc.assert(
    fc.property(times, (sorted) => {
      const titles = histogramOf(sorted).map(({ fromMs, toMs }) => stepText(fromMs, toMs - fromMs));
      expect(new Set(titles).size).toBe(titles.length);
    }),
  );
});
