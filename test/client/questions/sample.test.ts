import { describe, expect, it } from "vitest";
import {
  drawPacks,
  foldedPacks,
  parseSample,
  sampleSize,
} from "../../../src/engine/client/questions/verify.ts";
import { virtualWorld } from "../../support/virtualClock.ts";

describe("a sample", () => {
  it.each([
    ["25", { packs: 25 }],
    ["1%", { percent: 1 }],
    ["0.5 %", { percent: 0.5 }],
    ["100%", { percent: 100 }],
  ])("%s is understood", (text, sample) => {
    expect(parseSample(text)).toEqual(sample);
  });

  it.each(["", "%", "0", "-1", "1.5", "101%", "0%", "1001", "ten", "NaN", "Infinity"])(
    "%j is refused with the rule",
    (text) => {
      expect(() => parseSample(text)).toThrowError(/^sample: .*1 to 1000 \(verifyPacksMax\)/);
    },
  );

  it.each([
    [{ percent: 1 }, 1_000, 10],
    [{ percent: 1 }, 1_001, 11],
    [{ percent: 1 }, 5, 1],
    [{ percent: 100 }, 1_000_000, 1_000],
    [{ packs: 8 }, 5, 5],
    [{ percent: 50 }, 0, 0],
  ])("%j of %d packs is %d of them", (sample, packs, size) => {
    expect(sampleSize(sample, packs)).toBe(size);
  });
});

describe("the packs that a result folded", () => {
  const layout = { chunks: 95, packSize: 10, shardSize: 4, fanIn: 2 };

  it("are all packs if nothing is missing", () => {
    expect(foldedPacks(layout, { missing: [] })).toEqual([{ from: 0, to: 10 }]);
    expect(foldedPacks({ ...layout, chunks: 0 }, { missing: [] })).toEqual([]);
  });

  it("exclude gaps, also at the short last pack", () => {
    const missing = [
      { from: 0, to: 10 },
      { from: 30, to: 50 },
      { from: 90, to: 95 },
    ];
    expect(foldedPacks(layout, { missing })).toEqual([
      { from: 1, to: 3 },
      { from: 5, to: 9 },
    ]);
    expect(foldedPacks(layout, { missing: [{ from: 0, to: 95 }] })).toEqual([]);
  });
});

describe("drawing packs", () => {
  const { random } = virtualWorld({ seed: 3 });
  const ranges = [
    { from: 1, to: 3 },
    { from: 5, to: 9 },
  ];

  it("gives different packs of the ranges, ascending", () => {
    for (let round = 0; round < 200; round += 1) {
      const packs = drawPacks(ranges, 4, random.number);
      expect(packs).toEqual([...new Set(packs)].sort((a, b) => a - b));
      expect(packs.filter((pack) => (pack >= 1 && pack < 3) || (pack >= 5 && pack < 9))).toHaveLength(4);
    }
  });

  it("gives all packs if as many are requested, or more", () => {
    expect(drawPacks(ranges, 6, random.number)).toEqual([1, 2, 5, 6, 7, 8]);
    expect(drawPacks(ranges, 99, random.number)).toEqual([1, 2, 5, 6, 7, 8]);
    expect(drawPacks([], 5, random.number)).toEqual([]);
  });

  it("draws each pack with equal probability", () => {
    const seen = new Map<number, number>();
    for (let round = 0; round < 6_000; round += 1) {
      for (const pack of drawPacks(ranges, 2, random.number)) seen.set(pack, (seen.get(pack) ?? 0) + 1);
    }
    for (const times of seen.values()) expect(Math.abs(times - 2_000)).toBeLessThan(200);
  });
});
