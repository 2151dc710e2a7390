import { describe, expect, it } from "vitest";
import { type Measure, trendOf } from "../../../src/client/timeLeft/trend.ts";
import { seededRandom } from "../../support/virtualClock.ts";

const measures = (valueAt: (place: number) => number): Measure[] =>
  Array.from({ length: 20 }, (_, index) => {
    const place = index * 10 - 195;
    return { place, packs: 10, value: valueAt(place) };
  });

describe("a trend", () => {
  it("is the line itself where the values lie on one", () => {
    const { now, perPack, error } = trendOf(
      measures((place) => 500 + 2 * place),
      80,
      0,
    );
    expect(now).toBeCloseTo(500, 6);
    expect(perPack).toBeCloseTo(2, 6);
    expect(error).toBe(0);
  });

  it("follows what is latest", () => {
    const { now } = trendOf(
      measures((place) => (place < -100 ? 100 : 200)),
      20,
      0,
    );
    expect(now).toBeGreaterThan(190);
  });

  it("is level where its slope may as well be chance", () => {
    const random = seededRandom(3);
    const slopes = Array.from({ length: 200 }, () => {
      const noisy = measures(() => 500 + (random.number() - 0.5) * 100);
      // Ten packs a measure, so one pack varies by √10 times as much as their mean.
      return trendOf(noisy, 80, (10 * 100 ** 2) / 12).perPack;
    });
    expect(slopes.filter((slope) => slope === 0).length).toBeGreaterThan(100);
  });

  it("of a single measure is that measure", () => {
    const { now, perPack, error } = trendOf([{ place: -5, packs: 10, value: 300 }], 5, 100);
    expect(now).toBeCloseTo(300, 6);
    expect(perPack).toBe(0);
    // The mean of ten packs that vary by 10 each.
    expect(error).toBeCloseTo(Math.sqrt(10), 6);
  });
});
