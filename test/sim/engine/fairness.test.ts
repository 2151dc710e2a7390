import { expect, test } from "vitest";
import type { Random } from "../../../src/engine/storage/ports.ts";
import { engineWorld } from "../../support/engineWorld.ts";

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
    // Jain's index: 1 where all are equal.
    if (share > 0.25) seen.push(sum ** 2 / (runs * done.reduce((a, b) => a + b * b, 0)));
    if (seen.length === 1) {
      engine.instances.find((one) => one.leading())?.kill();
      engine.start();
    }
  }
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(0.9);
});
