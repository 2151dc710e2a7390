import { expect, test } from "vitest";
import { quantile } from "../../bench/quantile.ts";
import { type DeathCase, leaderlessMs } from "./leaderDeath.ts";

async function seconds(one: Omit<DeathCase, "seed">): Promise<readonly number[]> {
  const all: number[] = [];
  for (let seed = 1; seed <= 60; seed += 1) all.push((await leaderlessMs({ ...one, seed })) / 1_000);
  return all.sort((a, b) => a - b);
}

test("whatever the leader was started by, the next leads within one decision and one start after the wake", async () => {
  for (const ledBy of ["tick", "wake"] as const) {
    const all = await seconds({ timers: 1, ready: 0, ledBy });
    expect(all.at(-1)).toBeLessThanOrEqual(6 + 30 + 5);
    expect(quantile(all, 0.5)).toBeGreaterThan(10);
  }
});

test("a second instance of wake that is always ready saves the start, and a second timer only a few seconds", async () => {
  const of = async (timers: number, ready: number) =>
    quantile(await seconds({ timers, ready, ledBy: "wake" }), 0.5);
  const plain = await of(1, 0);
  expect(await of(1, 2)).toBeLessThan(9);
  // The only one dies with its leader.
  expect(await of(1, 1)).toBe(plain);
  const more = await of(2, 0);
  expect(more).toBeLessThanOrEqual(plain);
  expect(plain - more).toBeLessThan(10);
});
