import { describe, expect, it } from "vitest";
import { durations, histogramOf } from "../../../src/engine/client/inspection/durations.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { outputContentType } from "../../../src/engine/model/output.ts";
import { shardOf } from "../../../src/engine/model/packs.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { clientWorld, names } from "../clientWorld.ts";

const layout = { chunks: 995, packSize: 10, shardSize: 20, fanIn: 1_000, packMs: 1 };

/** A computing run whose packs have their partials, with the time that the rule gives. */
async function timedRun(state: Partial<State>, packs: readonly number[], msOf: (pack: number) => number) {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 1_000 }, id: "r1" });
  const cut = state.layout ?? layout;
  await world.putState(run, { phase: "computing", layout: cut, packsDone: packs.length, ...state });
  const blobs = runBlobs(run.run, run.uid);
  for (const pack of packs) {
    const facts = { ms: msOf(pack), attempt: pack === 7 ? 2 : 1 };
    await world.storage.blobs.create(names.runs, blobs.part(shardOf(cut, pack), pack), "1", {
      contentType: outputContentType("application/json", facts),
    });
  }
  return world;
}
const upTo = (packs: number) => Array.from({ length: packs }, (_, pack) => pack);

describe("the durations of a run", () => {
  it("have quantiles, a histogram and the slowest packs with their chunks", async () => {
    const { client } = await timedRun({}, upTo(100), (pack) => (pack === 7 ? 9_000 : 100 + pack));
    const found = await durations(client, "r1");
    expect(found).toMatchObject({ packs: 100, counted: 100, cut: false, generation: 1 });
    // Sorted: 100 to 199 without 107, then 9,000.
    expect([found.p50Ms, found.p75Ms, found.p95Ms, found.maxMs]).toEqual([150, 175, 195, 9_000]);
    expect(found.slowest).toHaveLength(10);
    expect(found.slowest.slice(0, 2)).toEqual([
      { pack: 7, chunks: { from: 70, to: 80 }, ms: 9_000, attempt: 2 },
      { pack: 99, chunks: { from: 990, to: 995 }, ms: 199, attempt: 1 },
    ]);
    expect(found.histogram.reduce((sum, { packs }) => sum + packs, 0)).toBe(100);
  });

  it("of a complete run, whose partials are gone, are those that the leader kept", async () => {
    const kept: Partial<State> = { phase: "complete", durationsMs: [30, 10, 20], packsDone: 100 };
    const { client } = await timedRun(kept, [], () => 0);
    expect(await durations(client, "r1")).toMatchObject({
      ...{ counted: 3, cut: true, p50Ms: 20, maxMs: 30, slowest: [] },
    });
  });

  it("of a run that is not planned, or has none, are empty", async () => {
    const { client, putState } = await timedRun({}, [], () => 0);
    expect(await durations(client, "r1")).toMatchObject({ packs: 100, counted: 0, histogram: [] });
    const run = await submit(client, { calculation: "sum", params: { to: 1 }, id: "r2" });
    expect(await durations(client, "r2")).toMatchObject({ packs: 0, counted: 0, cut: false, slowest: [] });
    await putState(run, {});
    expect(await durations(client, "r2")).not.toHaveProperty("p50Ms");
  });

  it("of a very large run are a sample from all of it, within twenty list pages", async () => {
    const large = { chunks: 1_000_000, packSize: 1, shardSize: 500, fanIn: 1_000, packMs: 1 };
    const packs = upTo(2_000).map((shard) => shard * 500);
    const { client, storage } = await timedRun({ layout: large }, packs, (pack) => pack / 1_000);
    const before = storage.meter.counts();
    const found = await durations(client, "r1");
    const after = storage.meter.counts();
    expect(after.list - before.list).toBe(20);
    expect(found).toMatchObject({ packs: 1_000_000, counted: 200, cut: true });
    // The last group of ten shards that is read begins at 19/20 of the run.
    expect(found.maxMs).toBeGreaterThan(945);
    expect(found.p50Ms).toBeGreaterThan(400);
    expect(found.p50Ms).toBeLessThan(550);
  });
});

it("a histogram has few bars of equal width that hold every value", () => {
  for (const values of [[5], [0, 0, 0], [1, 2, 3], [10, 1_000, 123_456], upTo(3_000)]) {
    const bars = histogramOf(values);
    expect(bars.length).toBeLessThanOrEqual(24);
    const width = (bars[0]?.toMs ?? 0) - (bars[0]?.fromMs ?? 0);
    bars.forEach(({ fromMs, toMs, packs }, index) => {
      expect([toMs - fromMs, fromMs]).toEqual([width, (bars[0]?.fromMs ?? 0) + index * width]);
      expect(packs).toBe(values.filter((ms) => ms >= fromMs && ms < toMs).length);
    });
    expect(bars.reduce((sum, { packs }) => sum + packs, 0)).toBe(values.length);
  }
  expect(histogramOf([])).toEqual([]);
});
