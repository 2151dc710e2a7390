import { expect, test } from "vitest";
import { virtualWorld } from "../support/virtualClock.ts";

test("timers fire in their order, and what they set up runs in between", async () => {
  const world = virtualWorld();
  const clock = world.clock();
  const seen: string[] = [];
  clock.after(30, () => seen.push("thirty"));
  clock.after(10, () => {
    seen.push("ten");
    void clock.sleep(5).then(() => seen.push("fifteen"));
  });
  await world.advance(40);
  expect(seen).toEqual(["ten", "fifteen", "thirty"]);
  expect(world.nowMs()).toBe(40);
});

test("whatever a timer brings about is over before the next one, however often and for each who waits", async () => {
  const world = virtualWorld();
  const clock = world.clock();
  const seen: string[] = [];
  const hops = async (name: string) => {
    seen.push(`${name} begins`);
    for (let hop = 0; hop < 50; hop += 1) await undefined;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    for (let hop = 0; hop < 50; hop += 1) await undefined;
    seen.push(`${name} ends`);
  };
  const timers = Array.from({ length: 200 }, (_, index) => `${index}`);
  for (const [index, name] of timers.entries()) clock.after(index + 1, () => void hops(name));
  await Promise.all([world.advance(200), world.finish(clock.sleep(150))]);
  expect(seen).toEqual(timers.flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test("equal times are ordered by the seed alone", async () => {
  const orderOf = async (seed: number) => {
    const world = virtualWorld({ seed });
    const clock = world.clock();
    const seen: number[] = [];
    for (let index = 0; index < 8; index += 1) clock.after(10, () => seen.push(index));
    await world.advance(10);
    return seen.join("");
  };
  expect(await orderOf(7)).toBe(await orderOf(7));
  expect(await orderOf(7)).not.toBe(await orderOf(8));
});

test("a paused clock goes on but fires nothing until it is resumed; a crashed one never does", async () => {
  const world = virtualWorld();
  const clock = world.clock();
  const seen: number[] = [];
  for (const ms of [10, 20, 500]) clock.after(ms, () => seen.push(ms));
  clock.pause();
  await world.advance(100);
  expect([seen.length, clock.monotonicMs()]).toEqual([0, 100]);
  clock.resume();
  await world.advance(1);
  expect(seen).toEqual([10, 20]);
  clock.crash();
  clock.after(1, () => seen.push(1));
  await world.advance(1_000);
  expect(seen).toEqual([10, 20]);
});

test("a sleep ends with its signal, and a canceled timer does not fire", async () => {
  const world = virtualWorld();
  const clock = world.clock();
  const wake = new AbortController();
  clock.after(10, () => wake.abort());
  await world.finish(clock.sleep(1_000, wake.signal));
  expect(world.nowMs()).toBe(10);
  await world.finish(clock.sleep(1_000, wake.signal));
  expect(world.nowMs()).toBe(10);
  clock.after(5, () => expect.unreachable())();
  await world.advance(10);
});

test("skew, rate and jumps show on one clock only", async () => {
  const world = virtualWorld();
  const plain = world.clock();
  const odd = world.clock({ skewMs: 2_000, rate: 1.5 });
  const apart = odd.wallMs() - plain.wallMs();
  await world.advance(100);
  odd.jumpWall(-10_000);
  odd.loseMonotonic(20);
  expect(apart).toBe(2_000);
  expect(odd.monotonicMs()).toBe(130);
  expect(odd.wallMs() - plain.wallMs()).toBe(2_000 + 50 - 10_000);
});

test("a promise that never settles is reported", async () => {
  await expect(virtualWorld().finish(new Promise(() => {}), 10)).rejects.toThrow("Not settled");
});
