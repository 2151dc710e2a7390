import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeMessage } from "../../../src/engine/model/message.ts";
import { shardSizeFor } from "../../../src/engine/model/packs.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { type EngineWorld, engineWorld } from "../../support/engineWorld.ts";
import { fuzzRuns } from "../../support/fuzzRuns.ts";

const whole = (chunks: number): string => JSON.stringify([[0, chunks]]);

async function expectExact(engine: EngineWorld, chunks: number): Promise<void> {
  const state = await engine.untilEnd("r");
  expect(state.error).toBeUndefined();
  expect(state).toMatchObject({ phase: "complete", chunksDone: chunks });
  expect(await engine.result("r")).toBe(whole(chunks));
  expect(await engine.manifest("r")).toMatchObject({ complete: true, chunks, folded: chunks, missing: [] });
}

describe("one run on in-memory storage", () => {
  test.each([1, 2, 3, 10, 256, 257, 1000])(
    "%i chunks in packs of one are folded to one exact result",
    async (chunks) => {
      const engine = engineWorld();
      engine.start();
      await engine.submit({ id: "r", chunks, packSize: 1 });
      await expectExact(engine, chunks);
    },
  );

  test("a run of no chunks has the result of nothing", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r", chunks: 0 });
    expect((await engine.untilEnd("r")).phase).toBe("complete");
    expect(await engine.result("r")).toBe("[]");
  });

  test("partials too large for metadata are read one by one", async () => {
    const engine = engineWorld({ code: { padding: 5_000 } });
    engine.start();
    await engine.submit({ id: "r", chunks: 300, packSize: 1 });
    await expectExact(engine, 300);
  });

  test("a complete run leaves no partial, node or marker behind", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r", chunks: 600, packSize: 2 });
    await expectExact(engine, 600);
    await engine.world.advance(60_000);
    expect(engine.storage.operator.blobNames("sim-active")).toEqual([]);
    const { uid } = (await engine.state("r")) ?? { uid: "" };
    const { root } = runBlobs("r", uid);
    expect(engine.storage.operator.blobNames("sim-runs")).toEqual([
      expect.stringMatching(/^_closed\/\d{13}\.r$/),
      `${root}plan.json`,
      `${root}state.json`,
      "r/spec.json",
    ]);
    const answers = engine.storage.operator
      .blobNames("sim-results")
      .map((name) => name.slice(`r/${uid}/001/`.length));
    expect(answers.filter((name) => name.startsWith("hashes/"))).toHaveLength(
      Math.ceil(300 / shardSizeFor(300)),
    );
    expect(answers.filter((name) => !name.startsWith("hashes/"))).toHaveLength(2);
  });

  test("on an empty account the first tick, the first worker and the first submit make what they miss", async () => {
    const engine = engineWorld({ places: false });
    engine.start();
    engine.start({ leads: false });
    await engine.world.advance(60_000);
    expect(await engine.storage.queues.stats("sim-packs")).toEqual({ kind: "missing" });
    await engine.submit({ id: "r", chunks: 60 });
    await expectExact(engine, 60);
    expect(engine.log.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  });

  test("several runs at once end each with its own result", async () => {
    const engine = engineWorld();
    for (let count = 0; count < 3; count += 1) engine.start();
    for (const id of ["r", "s", "t"]) await engine.submit({ id, chunks: 100, packSize: 3 });
    for (const id of ["r", "s", "t"]) {
      expect((await engine.untilEnd(id)).phase).toBe("complete");
      expect(await engine.result(id)).toBe(whole(100));
    }
  });
});

describe("faults", () => {
  test("the leader is killed in the middle: another takes over and the result is exact", async () => {
    const engine = engineWorld({ seed: 7 });
    for (let count = 0; count < 3; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 400, packSize: 1 });
    await engine.world.advance(8_000);
    const leader = engine.instances.find((one) => one.leading());
    expect(leader).toBeDefined();
    leader?.kill();
    await expectExact(engine, 400);
    expect((await engine.state("r"))?.terms.length).toBeGreaterThan(1);
  });

  test("a killed worker's packs are resent instead of waiting for ten minutes", async () => {
    const engine = engineWorld({ seed: 3, code: { chunkMs: () => 1_000 } });
    const [first] = [engine.start(), engine.start(), engine.start()];
    await engine.submit({ id: "r", chunks: 60, packSize: 1 });
    await engine.world.advance(5_000);
    const victim = engine.instances.find((one) => !one.leading()) ?? first;
    victim.kill();
    await expectExact(engine, 60);
    const state = await engine.state("r");
    expect((state?.finishedMs ?? 0) - (state?.createdMs ?? 0)).toBeLessThan(60_000);
  });

  test("all instances are killed and one is started again: the run goes on from its state", async () => {
    const engine = engineWorld({ seed: 5 });
    for (let count = 0; count < 2; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 300, packSize: 1 });
    await engine.world.advance(6_000);
    for (const one of engine.instances) one.kill();
    await engine.world.advance(120_000);
    engine.start();
    await expectExact(engine, 300);
  });

  test("a chunk that throws fails the run, and the record says which and why", async () => {
    const engine = engineWorld({
      code: {
        onChunk(chunk) {
          if (chunk === 13) throw new Error("unlucky");
        },
      },
    });
    engine.start();
    await engine.submit({ id: "r", chunks: 40, packSize: 4 });
    const state = await engine.untilEnd("r");
    expect(state).toMatchObject({ phase: "failed", error: { code: "pack-failed" } });
    expect(state.error?.message).toContain("chunk 13: unlucky");
  });

  test("a tolerated failure gives a result that names its gap", async () => {
    const onChunk = (chunk: number): void => {
      if (chunk === 13) throw new Error("unlucky");
    };
    const engine = engineWorld({ code: { onChunk } });
    engine.start();
    await engine.submit({ id: "r", chunks: 300, packSize: 1, tolerate: { chunks: 1 } });
    expect((await engine.untilEnd("r")).phase).toBe("complete");
    expect(await engine.result("r")).toBe("[[0,13],[14,300]]");
    const gap = { complete: false, folded: 299, missing: [{ from: 13, to: 14 }] };
    expect(await engine.manifest("r")).toMatchObject(gap);
  });

  test("a cancelled run ends, keeps its partials, and its messages become nothing", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r", chunks: 500, packSize: 1 });
    await engine.world.advance(5_000);
    await engine.mark("r", (marker) => ({ ...marker, want: "cancelled" }));
    const state = await engine.untilEnd("r");
    expect(state).toMatchObject({ phase: "cancelled", answer: "done" });
    await engine.world.advance(30_000);
    const done = engine.storage.operator.blobNames("sim-runs").filter((name) => name.includes("/parts/"));
    expect(done.length).toBeGreaterThan(0);
    expect(await engine.manifest("r")).toBeUndefined();
  });

  test("messages nobody can act on are recorded once and dropped, and the run is not troubled", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r", chunks: 200, packSize: 1 });
    await engine.world.advance(3_000);
    const uid = (await engine.state("r"))?.uid ?? "";
    const compute = {
      v: 1,
      kind: "compute",
      run: "r",
      uid,
      gen: 1,
      send: 1,
      turn: 0,
      shard: 0,
      pack: 999,
      from: 999,
      to: 1000,
    } as const;
    const garbage = ["{", "AAAA", "[]", '{"v":1,"kind":"nonsense"}', encodeMessage(compute)];
    for (const text of [...garbage, "{"]) await engine.storage.queues.send("sim-urgent", text);
    await engine.storage.queues.send("sim-packs", encodeMessage({ ...compute, run: "unknown" }));
    await engine.storage.queues.send("sim-packs", encodeMessage({ ...compute, uid: "another" }));
    await expectExact(engine, 200);
    await engine.world.advance(30_000);
    const dropped = engine.storage.operator
      .blobNames("sim-runs")
      .filter((name) => name.startsWith("_dropped/"));
    expect(dropped).toHaveLength(garbage.length);
    expect(await engine.storage.queues.peek("sim-urgent-poison", 32).catch(() => [])).toEqual([]);
  });

  test("a run whose state does not decode fails with a reason, and others go on", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r", chunks: 50, packSize: 1 });
    await engine.submit({ id: "s", chunks: 50, packSize: 1 });
    await engine.world.advance(2_000);
    const uid = (await engine.state("r"))?.uid ?? "";
    engine.instances[0]?.kill();
    engine.storage.operator.overwriteBlob("sim-runs", runBlobs("r", uid).state, "{ not json");
    engine.start();
    expect((await engine.untilEnd("s")).phase).toBe("complete");
    expect(await engine.state("r")).toMatchObject({ phase: "failed", error: { code: "not-json" } });
  });
});

test("the result's bytes do not depend on instances, order, duplicates, faults and leader changes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.integer({ min: 1, max: 1e9 }),
        instances: fc.integer({ min: 1, max: 4 }),
        chunks: fc.integer({ min: 1, max: 400 }),
        packSize: fc.integer({ min: 1, max: 5 }),
        kills: fc.array(fc.integer({ min: 500, max: 15_000 }), { maxLength: 3 }),
        lost: fc.constantFrom(0, 0.02, 0.05),
        duplicates: fc.boolean(),
      }),
      async ({ seed, instances, chunks, packSize, kills, lost, duplicates }) => {
        const engine = engineWorld({ seed });
        for (let count = 0; count < instances; count += 1) engine.start();
        await engine.submit({ id: "r", chunks, packSize });
        engine.faults = { lostRequest: lost, lostReply: lost };
        for (const afterMs of kills) {
          await engine.world.advance(afterMs);
          engine.instances.find((one) => one.leading())?.kill();
          engine.start();
          if (duplicates) await deliverTwice(engine);
        }
        await expectExact(engine, chunks);
      },
    ),
    fuzzRuns(10),
  );
});

/** Puts every message that can be seen in the queues there once more. */
async function deliverTwice(engine: EngineWorld): Promise<void> {
  for (const queue of ["sim-packs", "sim-urgent"]) {
    for (const { text } of await engine.storage.queues.peek(queue, 32))
      await engine.storage.queues.send(queue, text);
  }
}
