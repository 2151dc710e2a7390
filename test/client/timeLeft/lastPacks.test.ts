import { describe, expect, it } from "vitest";
import { lastPacksMs } from "../../../src/client/timeLeft/lastPacks.ts";
import { seededRandom } from "../../support/virtualClock.ts";

const even = Array.from({ length: 100 }, () => 1_000);

describe("the last packs", () => {
  it("take the whole of a pack at most, where all are alike", () => {
    const { low, middle, high } = lastPacksMs({ durationsMs: even, atOnce: 64, left: 500 });
    expect(low).toBeGreaterThan(900);
    expect(middle).toBeGreaterThanOrEqual(low);
    expect(high).toBe(1_000);
  });

  it("are nearly over where few of those at once are left, unless they go in step", () => {
    const { low, high } = lastPacksMs({ durationsMs: even, atOnce: 100, left: 5 });
    expect(low).toBeLessThan(50);
    expect(high).toBe(1_000);
  });

  it("take as long as the longest of many rests that are drawn at random", () => {
    const random = seededRandom(1);
    const durationsMs = Array.from({ length: 200 }, () => 500 - 1_000 * Math.log(1 - random.number()));
    const longest = Array.from({ length: 2_000 }, () =>
      Math.max(...Array.from({ length: 8 }, () => restOf(durationsMs, random.number(), random.number()))),
    ).sort((a, b) => a - b);
    const { low, high } = lastPacksMs({ durationsMs, atOnce: 8, left: 1_000 });
    expect(low / (longest[200] ?? 0)).toBeCloseTo(1, 1);
    expect(high).toBeGreaterThanOrEqual(0.95 * (longest[1_800] ?? 0));
  });
});

/** The rest of a pack met at a random moment: long ones are met more often. */
function restOf(durationsMs: readonly number[], where: number, within: number): number {
  let at = where * durationsMs.reduce((sum, duration) => sum + duration, 0);
  for (const duration of durationsMs) {
    if (at < duration) return duration * within;
    at -= duration;
  }
  return 0;
}
