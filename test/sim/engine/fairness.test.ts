import { expect, test } from "vitest";

import { StorageError } from "../../../src/engine/model/errors.ts";
import type { Random } from "../../../src/engine/storage/ports.ts";
import { engineWorld } from "../../support/engineWorld.ts";
import { jainOf, smallRun, threeRuns } from "./shares.ts";

/** Time from submit to result of a run of 100 chunks, alone or behind one of very many packs. */
async function smallRunMs(packSize: number, behind: boolean): Promise<number> {
  const engine = engineWorld({ seed: 5, code: { chunkMs: () => 500 } });
  for (let count = 0; count < 4; count += 1) engine.start();
  if (behind) {
    await engine.submit({ id: "big", chunks: 1_000_000, packSize: 2 });
    await engine.world.advance(60_000);
  } else {
    await engine.submit({ id: "first", chunks: 8, packSize: 1 });
    await engine.untilEnd("first");
  }
  const fromMs = engine.world.nowMs();
  await engine.submit({ id: "small", chunks: 100, packSize });
  expect((await engine.untilEnd("small")).phase).toBe("complete");
  return engine.world.nowMs() - fromMs;
}

test.each([1, 10])(
  "a run of 100 chunks in packs of %i behind one of a million chunks takes at most three times its time alone",
  async (packSize) => {
    const alone = await smallRunMs(packSize, false);
    const behind = await smallRunMs(packSize, true);
    expect(behind / alone).toBeLessThanOrEqual(3);
  },
);

test.each([
  ["20 ms", () => 20],
  [
    "hardly a millisecond, as a clock of whole ones tells it",
    (_: number, random: Random) => +(random.number() < 0.02),
  ],
])("many runs whose packs take %s progress evenly, also when their leader has died", async (_, chunkMs) => {
  const [runs, packs] = [40, 300];
  const engine = engineWorld({ seed: 5, code: { chunkMs } });
  for (let count = 0; count < 3; count += 1) engine.start();
  const ids = Array.from({ length: runs }, (_, index) => `run-${index}`);
  await Promise.all(ids.map((id) => engine.submit({ id, chunks: packs, packSize: 1 })));
  const seen: number[] = [];
  for (let share = 0; share < 0.9; ) {
    await engine.world.advance(10_000);
    const states = await Promise.all(ids.map((id) => engine.state(id)));
    const done = states.map((state) => state?.packsDone ?? 0);
    const sum = done.reduce((a, b) => a + b, 0);
    share = sum / (runs * packs);
    if (share > 0.25) seen.push(jainOf(done));
    if (seen.length === 1) {
      engine.instances.find((one) => one.leading())?.kill();
      engine.start();
    }
  }
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(0.9);
});

test("runs with packs of 25 s and of 0.1 s have as much of the workers each, also under the next leader", async () => {
  const chunkMs = 100;
  const engine = engineWorld({ seed: 5, code: { chunkMs: () => chunkMs } });
  for (let count = 0; count < 8; count += 1) engine.start();
  const sizes = { long: 250, longer: 250, short: 1, shorter: 1 };
  const chunks = 1_000_000;
  for (const [id, packSize] of Object.entries(sizes)) await engine.submit({ id, chunks, packSize });
  const doneBy = async () =>
    Promise.all(
      Object.entries(sizes).map(async ([id, size]) => ((await engine.state(id))?.packsDone ?? 0) * size),
    );
  await engine.world.advance(120_000);
  const before = await doneBy();
  engine.instances.find((one) => one.leading())?.kill();
  engine.start();
  await engine.world.advance(300_000);
  const done = (await doneBy()).map((now, at) => now - (before[at] ?? 0));
  expect(jainOf(done)).toBeGreaterThanOrEqual(0.7);
});

test("a run with long packs that is submitted beside short ones does not hold them up", async () => {
  const engine = engineWorld({ seed: 5, code: { chunkMs: () => 100 } });
  for (let count = 0; count < 8; count += 1) engine.start();
  for (const id of ["one", "two"]) await engine.submit({ id, chunks: 100_000, packSize: 1 });
  const done = async () =>
    ((await engine.state("one"))?.packsDone ?? 0) + ((await engine.state("two"))?.packsDone ?? 0);
  await engine.world.advance(60_000);
  const from = await done();
  await engine.world.advance(30_000);
  const alone = (await done()) - from;
  await engine.submit({ id: "long", chunks: 250_000, packSize: 250 });
  for (let count = 0; count < 4; count += 1) {
    const before = await done();
    await engine.world.advance(30_000);
    expect((await done()) - before).toBeGreaterThan(alone / 3);
  }
});

test("three hundred runs that take turns keep the workers at work", async () => {
  const [runs, packs] = [300, 60];
  const engine = engineWorld({ seed: 5, code: { chunkMs: () => 100 } });
  for (let count = 0; count < 10; count += 1) engine.start();
  const ids = Array.from({ length: runs }, (_, index) => `run-${index}`);
  await Promise.all(ids.map((id) => engine.submit({ id, chunks: packs, packSize: 1 })));
  await engine.world.advance(240_000);
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.filter((state) => state?.phase === "complete").length).toBeGreaterThanOrEqual(0.9 * runs);
});

test("runs that storage does not let a leader read make no window small", async () => {
  const refused = new StorageError("refused", "AuthorizationFailure", 403, "not this one");
  let refuses = false;
  const engine = engineWorld({
    seed: 5,
    code: { chunkMs: () => 5_000 },
    watched: (storage) => ({
      ...storage,
      blobs: {
        ...storage.blobs,
        read: async (container, name, options) =>
          refuses && name.includes("dead-")
            ? Promise.reject(refused)
            : storage.blobs.read(container, name, options),
      } as typeof storage.blobs,
    }),
  });
  for (let count = 0; count < 60; count += 1) await engine.submit({ id: `dead-${count}`, chunks: 9 });
  refuses = true;
  engine.start();
  await engine.world.advance(60_000);
  await engine.submit({ id: "live", chunks: 10_000, packSize: 1 });
  for (let state = await engine.state("live"); !state?.inFlight; state = await engine.state("live"))
    await engine.world.advance(100);
  expect((await engine.state("live"))?.inFlight).toBeGreaterThan(60);
});

test.each([100, 4_000, 60_000])(
  "three equal runs of packs of %i ms that are submitted 4 s apart share from half a minute on",
  async (packMs) => {
    for (const counts of await threeRuns(packMs))
      expect(jainOf(counts), counts.join(", ")).toBeGreaterThanOrEqual(0.9);
  },
);

test("runs of priority high, normal and low have the workers as 4 to 1 to a quarter", async () => {
  const windows = await threeRuns(4_000, 1, ["high", "normal", "low"]);
  const [high = 0, normal = 0, low = 0] = [0, 1, 2].map((run) =>
    windows.reduce((sum, counts) => sum + (counts[run] ?? 0), 0),
  );
  expect(high / normal).toBeGreaterThan(2.5);
  expect(normal / low).toBeGreaterThan(2);
});

test.each([100, 4_000, 60_000])(
  "a run of ten packs of %i ms beside two large ones takes at most three times its time alone",
  async (packMs) => {
    expect(await smallRun(packMs, packMs)).toBeLessThanOrEqual(3);
  },
);
