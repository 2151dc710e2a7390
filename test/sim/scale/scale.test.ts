import { expect, test } from "vitest";
import { totalCalls } from "../../../src/engine/model/calls.ts";
import { azureScaling } from "./platform.ts";
import { runScale } from "./runScale.ts";

test("10,000 packs of a second on 200 warm workers take at most 1.15 times the ideal 50 s", async () => {
  const run = await runScale({ packs: 10_000, packMs: 1_000, workers: 200 });
  expect(run.result).toBe("[[0,1000000]]");
  expect(run.wallMs / 50_000).toBeLessThanOrEqual(1.15);
  // A million chunks in packs of 100, from submit to cleaned up.
  expect(run.callsPerPack / 100).toBeLessThanOrEqual(0.05);
  expect(run.dollars).toBeLessThanOrEqual(0.075);
});

test("packs longer than five seconds cost at most 0.085 calls per chunk, since their workers read the marker twice and write heartbeats", async () => {
  const run = await runScale({ packs: 2_000, packMs: 8_000, workers: 200 });
  expect(run.result).toBe("[[0,200000]]");
  expect(run.callsPerPack / 100).toBeLessThanOrEqual(0.085);
});

test("the queue is always long enough for the platform to add as many workers as it ever does at once", async () => {
  const run = await runScale({ packs: 1_500, packMs: 1_000, workers: azureScaling });
  const { decideEveryMs, grown, coldStartMs } = azureScaling;
  // The first decision sees nothing and the second only the plan, for which one instance is enough.
  const decisions = Math.floor((run.wallMs - 2 * decideEveryMs - 2 * coldStartMs) / decideEveryMs);
  expect(run.workersPeak).toBeGreaterThanOrEqual(1 + grown(0) * decisions);
  expect(run.utilisation).toBeGreaterThan(0.8);
});

test("the thin worker makes the same calls as the app's worker under its host", async () => {
  const same = { packs: 400, packMs: 1_000, workers: 20, latencyMs: () => 25 };
  const thin = await runScale(same);
  const hosted = await runScale({ ...same, hosted: true });
  expect(thin.result).toBe(hosted.result);
  const { other: thinHeads, ...thinCalls } = thin.workerCalls;
  const { other: hostedHeads, ...hostedCalls } = hosted.workerCalls;
  expect(thinCalls).toEqual(hostedCalls);
  // How often five seconds pass between two looks at the marker depends on chance.
  expect(Math.abs(thinHeads - hostedHeads)).toBeLessThan(0.1 * totalCalls(hosted.workerCalls));
  expect(thin.wallMs / hosted.wallMs).toBeCloseTo(1, 1);
});
