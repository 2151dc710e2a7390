import { expect, test } from "vitest";
import { p95 } from "../../../src/engine/model/quantile.ts";
import { engineWorld } from "../../support/engineWorld.ts";

test.each([1_000, 5_000, 20_000])(
  "a worker that dies in the middle of its last packs of %i ms costs four of them, 2 s and three loops, not ten minutes",
  async (packMs) => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const engine = engineWorld({
        seed,
        code: { chunkMs: (_chunk, random) => packMs * (0.8 + 0.4 * random.number()) },
      });
      for (let count = 0; count < 4; count += 1) engine.start();
      // Four instances of two threads: the third wave is the last, and the victim has its share of it.
      await engine.submit({ id: "r", chunks: 24, packSize: 1 });
      const done = () =>
        engine.storage.operator.blobNames("sim-runs").filter((name) => name.includes("/parts/")).length;
      while (done() < 17) await engine.world.advance(100);
      await engine.world.advance(packMs / 8);
      expect(done()).toBeLessThan(24);
      const killedMs = engine.world.nowMs();
      engine.instances.find((one) => !one.leading())?.kill();
      const state = await engine.untilEnd("r");
      expect(state).toMatchObject({ phase: "complete", chunksDone: 24 });
      const boundMs = 4 * p95(state.durationsMs) + 2_000 + 3 * 2_000;
      expect([seed, engine.world.nowMs() - killedMs <= boundMs]).toEqual([seed, true]);
    }
  },
);

test.each([5_000, 20_000])(
  "a pack of %i ms whose resend dies with its worker as well is resent once more after half a minute, not after ten",
  async (packMs) => {
    for (let seed = 1; seed <= 4; seed += 1) {
      const engine = engineWorld({ seed, code: { chunkMs: () => packMs } });
      engine.start({ works: false });
      const workers = () => engine.instances.slice(1).filter((one) => !one.isDead());
      const start = () => engine.start({ leads: false });
      for (let count = 0; count < 3; count += 1) start();
      await engine.submit({ id: "r", chunks: 24, packSize: 1 });
      const names = () => engine.storage.operator.blobNames("sim-runs");
      const done = () => names().filter((name) => name.includes("/parts/")).length;
      while (done() < 18) await engine.world.advance(100);
      await engine.world.advance(packMs / 2);
      workers()[0]?.kill();
      await engine.world.until(() => names().some((name) => name.endsWith(".begun")), 120_000);
      for (const one of workers()) one.kill();
      for (let count = 0; count < 3; count += 1) start();
      const killedMs = engine.world.nowMs();
      const state = await engine.untilEnd("r");
      expect(state).toMatchObject({ phase: "complete", chunksDone: 24 });
      // The last heartbeat and the list that shows its age, and then the pack.
      const boundMs = 30_000 + 10_000 + 8_000 + 4 * packMs;
      expect([seed, engine.world.nowMs() - killedMs <= boundMs]).toEqual([seed, true]);
    }
  },
);

test.each([250, 1_000, 8_000, 60_000])(
  "a run without faults whose packs all take %i ms sends hardly any again, though they end together",
  async (packMs) => {
    const engine = engineWorld({ seed: 2, code: { chunkMs: () => packMs } });
    for (let count = 0; count < 8; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 200, packSize: 1 });
    const state = await engine.untilEnd("r");
    expect(state.phase).toBe("complete");
    // Puts that are made together come in any order, so a few packs wait longer than their place says.
    expect(state.resends).toBeLessThanOrEqual(2);
  },
);
