import { expect, test } from "vitest";
import { noAccess } from "../../src/calculations/files.ts";
import { limits } from "../../src/model/limits.ts";
import { packsOf } from "../../src/model/packs.ts";
import { threadPool } from "../../src/worker/threads/threadPool.ts";
import type { UserCode } from "../../src/worker/threads/userCode.ts";
import { common, workerWorld } from "./workerWorld.ts";

/** Packs of a run as these threads plan it after whatever they have computed before. */
async function packs(pool: UserCode): Promise<number> {
  const world = await workerWorld(pool, { versionOf: () => "primes@1" });
  await world.submit({ calculation: "primes", params: { from: 0, to: 1e11 } });
  await world.work({ ...common, kind: "plan" });
  return packsOf(await world.plan());
}

/** A run planned by threads that have just started, and by the same ones once they are warm. */
async function coldAndWarm(): Promise<readonly [cold: number, warm: number]> {
  const onIdleCrash = (error: unknown): never => expect.fail(String(error));
  const pool = threadPool({ threads: 2, memoryMb: 256, files: [], access: noAccess, onIdleCrash });
  try {
    return [await packs(pool), await packs(pool)];
  } finally {
    await pool.stop();
  }
}

test("threads that have just started and warm ones plan a run within a third of as many packs", async () => {
  // The speed of a shared core changes between two plans, either way; code that is not compiled is slow each time.
  const pairs = [await coldAndWarm(), await coldAndWarm(), await coldAndWarm()];
  const [, ratio = 0] = pairs.map(([cold, warm]) => cold / warm).sort((a, b) => a - b);
  expect(ratio, JSON.stringify(pairs)).toBeGreaterThan(0.67);
  expect(ratio, JSON.stringify(pairs)).toBeLessThan(1.33);
  // With as many packs as a run has at most, they would agree whatever was measured.
  const [, most = 0] = pairs.map((pair) => Math.max(...pair)).sort((a, b) => a - b);
  expect(most, JSON.stringify(pairs)).toBeLessThan(0.95 * limits.packsAimed);
}, 30_000);
