import { expect, it } from "vitest";
import { makePollBackoff } from "../../../../src/host/queueTrigger.ts";

const random = (number: number) => ({ uuid: () => "", number: () => number });

it("waits 100 ms after a poll with messages, then about twice as long at each empty one, up to the maximum", () => {
  const backoff = makePollBackoff(2_000, random(0.5));
  const waits = [true, false, false, false, false, false, false].map((found) => backoff(found));
  expect(waits).toEqual([100, 200, 300, 500, 900, 1_700, 2_000]);
});

it("begins anew after each poll with messages", () => {
  const backoff = makePollBackoff(60_000, random(0.5));
  backoff(false);
  backoff(false);
  expect(backoff(true)).toBe(100);
  expect(backoff(false)).toBe(200);
});

it("spreads its waits by a fifth to both sides", () => {
  expect(makePollBackoff(60_000, random(0))(false)).toBeCloseTo(180);
  expect(makePollBackoff(60_000, random(1))(false)).toBeCloseTo(220);
});

it("stays at the maximum once it is reached, however long the queue stays empty", () => {
  const backoff = makePollBackoff(100, random(0.5));
  const waits = Array.from({ length: 5_000 }, () => backoff(false));
  expect(new Set(waits)).toEqual(new Set([100]));
});
