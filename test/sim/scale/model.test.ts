import { expect, test } from "vitest";
import { seededRandom } from "../../support/virtualClock.ts";
import { callLatencyMs } from "./callLatency.ts";
import { azureScaling, containerScaling, decideInstances, secondsTo } from "./platform.ts";
import { azureLimits, throttle } from "./serviceLimits.ts";

test("nine calls of ten take 10 to 60 ms, and one of a thousand half a second or more", () => {
  const random = seededRandom(7);
  const calls = Array.from({ length: 100_000 }, () => callLatencyMs(random));
  const share = (holds: (ms: number) => boolean) => calls.filter(holds).length / calls.length;
  expect(share((ms) => ms >= 10 && ms <= 60)).toBeCloseTo(0.9, 2);
  expect(share((ms) => ms >= 500)).toBeCloseTo(0.001, 3);
  expect(calls.reduce((sum, ms) => sum + ms, 0) / calls.length).toBeCloseTo(29.5, 0);
});

test("a queue passes 2,000 calls a second and half a second's worth in a burst, whatever other queues do", () => {
  const service = throttle(azureLimits);
  const passed = (queue: string, atMs: number, calls: number) =>
    Array.from({ length: calls }, () => service.refusal({ queue, isPut: true }, atMs)).filter((one) => !one)
      .length;
  expect(passed("packs", 0, 1_500)).toBe(1_000);
  expect(passed("urgent", 0, 900)).toBe(900);
  expect(passed("packs", 100, 500)).toBe(200);
  expect(service.refused).toEqual({ account: 0, queue: 800, blob: 0 });
});

test("where only puts count, gets and deletes of messages pass", () => {
  const service = throttle({ ...azureLimits, queueCounts: "puts" });
  for (let put = 0; put < 1_000; put += 1) service.refusal({ queue: "packs", isPut: true }, 0);
  expect(service.refusal({ queue: "packs", isPut: true }, 0)).toBe("queue");
  expect(service.refusal({ queue: "packs", isPut: false }, 0)).toBeUndefined();
});

test("one blob passes 500 requests a second and the account 20,000", () => {
  const service = throttle(azureLimits);
  const refusals = Array.from({ length: 300 }, () => service.refusal({ blob: "active/r", isPut: false }, 0));
  expect(refusals.filter((one) => one === "blob")).toHaveLength(50);
  const others = Array.from({ length: 10_000 }, (_, n) =>
    service.refusal({ blob: `runs/${n}`, isPut: false }, 0),
  );
  expect(others.filter((one) => one === "account")).toHaveLength(300);
});

test("the platform adds four instances at a time, and takes away all that no visible message asks for", () => {
  const decide = (now: number, messages: number, visible = messages) =>
    decideInstances(now, { messages, visible }, 2, azureScaling);
  expect(decide(0, 0)).toBe(0);
  expect(decide(0, 1)).toBe(1);
  expect(decide(0, 100)).toBe(4);
  expect(decide(48, 100)).toBe(50);
  expect(decide(998, 10_000)).toBe(1_000);
  expect(decide(60, 100)).toBe(50);
  expect(decide(60, 100, 0)).toBe(0);
});

test("containers come in steps of 1, 4 and as many again, and stay while a message is in work", () => {
  const decide = (now: number, messages: number, visible = messages) =>
    decideInstances(now, { messages, visible }, 2, containerScaling);
  const steps = [0];
  while ((steps.at(-1) ?? 0) < 1_000) steps.push(decide(steps.at(-1) ?? 0, 10_000));
  expect(steps).toEqual([0, 1, 4, 8, 16, 32, 64, 128, 256, 512, 1_000]);
  expect(decide(60, 50, 0)).toBe(25);
  expect(decide(60, 0)).toBe(0);
  expect(secondsTo(1_000, containerScaling)).toBe(290);
  expect(secondsTo(1_000, azureScaling)).toBe(7_474);
});
