import { expect, test } from "vitest";
import { activeGauge } from "../../src/engine/leader/tick.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { virtualWorld } from "../support/virtualClock.ts";

test("the gauge tells open runs once a minute, over terms, and each term's end of them once", async () => {
  const world = virtualWorld();
  const told: unknown[] = [];
  const gauge = activeGauge(world.clock(), ({ fields }: LogEvent) => void told.push(fields));
  for (let second = 0; second < 150; second += 1) {
    gauge(second < 100 ? 1 : 2, 3);
    await world.advance(1_000);
  }
  expect(told).toEqual([
    { term: 1, runs: 3, polls: 1 },
    { term: 1, runs: 3, polls: 60 },
    { term: 2, runs: 3, polls: 60 },
  ]);
  for (const term of [2, 2, 2, 3, 3]) gauge(term, 0);
  expect(told.slice(3)).toEqual([
    { term: 2, runs: 0, polls: 30 },
    { term: 3, runs: 0, polls: 3 },
  ]);
  gauge(4, 1);
  expect(told).toHaveLength(5);
  await world.advance(60_000);
  gauge(4, 1);
  expect(told.at(-1)).toEqual({ term: 4, runs: 1, polls: 3 });
});
