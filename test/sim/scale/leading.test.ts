import { expect, test } from "vitest";
import { totalCalls } from "../../../src/engine/model/calls.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { idleHour } from "./idleHour.ts";
import { type LeadingResult, runLeading } from "./runLeading.ts";

const pagesOfParts = (run: LeadingResult): number => run.partPages / run.partLoops;

test("work in order costs the leader about two pages of partials a loop and at most 300 calls a minute", async () => {
  for (const { packs, perS } of [
    { packs: 400, perS: 5 },
    { packs: 7_000, perS: 100 },
    { packs: 64_000, perS: 500 },
  ]) {
    const run = await runLeading({ packs, perS, packMs: 1_000 });
    const of = `${packs} packs at ${perS}/s`;
    expect.soft(run.wallMs, of).toBeGreaterThan(60_000);
    expect.soft(run.callsPerMinute, of).toBeLessThanOrEqual(300);
    expect.soft(pagesOfParts(run), of).toBeLessThanOrEqual(2.1);
    expect.soft(run.pagesPerLoopMax, of).toBeLessThanOrEqual(limits.pagesPerLoopMax);
    expect.soft(run.sendsBetweenWritesMax, of).toBeLessThanOrEqual(limits.sendsPerWriteMax);
  }
});

test("more runs than a loop has pages take turns, and all of them end", async () => {
  const run = await runLeading({ packs: 60, perS: 5, packMs: 1_000, runs: 30 });
  expect(run.pagesPerLoopMax).toBeLessThanOrEqual(limits.pagesPerLoopMax);
  expect(run.sendsBetweenWritesMax).toBeLessThanOrEqual(limits.sendsPerWriteMax);
});

test("the leader sends more than 500 packs a second where the workers are faster", async () => {
  const run = await runLeading({ packs: 12_000, perS: 5_000, packMs: 1_000 });
  expect(run.sendsPerS).toBeGreaterThan(500);
});

test("an hour with nothing to lead costs two calls a minute, though each tick meets a fresh process", async () => {
  const calls = await idleHour();
  expect(totalCalls(calls)).toBe(2 * 60);
  expect(calls.list).toBe(60);
});
