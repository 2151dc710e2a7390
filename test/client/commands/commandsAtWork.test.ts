import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../src/engine/client/commands/decideCommand.ts";
import { failures } from "../../../src/engine/client/failures.ts";
import { findManifest } from "../../../src/engine/client/result.ts";
import { runs } from "../../../src/engine/client/runs.ts";
import { status } from "../../../src/engine/client/status.ts";
import { CalculationError } from "../../../src/engine/model/errors.ts";
import { type EngineOptions, type EngineWorld, engineWorld, simNames } from "../../support/engineWorld.ts";

/** A run of a hundred packs of a tenth of a second, on one instance that leads and works. */
async function working(options: EngineOptions = {}): Promise<EngineWorld> {
  const engine = engineWorld(options);
  engine.start();
  await engine.submit({ id: "r", chunks: 100, packSize: 1, tolerate: { chunks: 10 } });
  await engine.world.advance(3_000);
  return engine;
}

/** The leader's answer, which the status of the run shows. */
async function told({ client, world }: EngineWorld, change: Change): Promise<string | undefined> {
  const given = await world.finish(command(client, "r", change));
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const { command: last } = await status(client, "r");
    if ((last?.number === given.command && last.answer !== "pending") || waitedMs > 10_000)
      return last?.answer;
    await world.advance(pollMs);
  }
}

const pollMs = 250;

const counts = async ({ client }: EngineWorld) => (await status(client, "r")).packs;

describe("a leader with a command", () => {
  it("to pause stops sending, and to resume completes the exact result", async () => {
    const engine = await working();
    expect(await told(engine, { kind: "cap", cap: 8 })).toBe("done");
    expect(await told(engine, { kind: "pause" })).toBe("done");
    await engine.world.advance(10_000);
    const before = await counts(engine);
    await engine.world.advance(60_000);
    expect(await counts(engine)).toEqual(before);
    expect(before?.done).toBeLessThan(100);
    expect(await status(engine.client, "r")).toMatchObject({ word: "computing", paused: true, cap: 8 });
    expect(await told(engine, { kind: "resume" })).toBe("done");
    await engine.untilEnd("r");
    expect(await engine.result("r")).toBe("[[0,100]]");
    expect(await counts(engine)).toMatchObject({ total: 100, sent: 100, done: 100, failed: 0 });
  });

  it("to cancel ends the run, and to retry it computes the rest", async () => {
    const engine = await working();
    expect(await told(engine, { kind: "cancel" })).toBe("done");
    expect(await status(engine.client, "r")).toMatchObject({ word: "cancelled", active: false });
    expect(await told(engine, { kind: "retry" })).toBe("done");
    expect(await status(engine.client, "r")).toMatchObject({ active: true, generation: 2 });
    expect((await engine.untilEnd("r")).generation).toBe(2);
    expect(await findManifest(engine.client, "r")).toMatchObject({ generation: 2, complete: true });
    expect(await engine.result("r", 2)).toBe("[[0,100]]");
  });

  it("to retry a result with gaps fills them, and the older result stays available by its generation", async () => {
    let broken = true;
    const onChunk = (chunk: number) => {
      if (broken && chunk === 7) throw new CalculationError("calculation-threw", "seven");
    };
    const engine = await working({ code: { onChunk } });
    await engine.untilEnd("r");
    expect(await status(engine.client, "r")).toMatchObject({
      word: "complete-with-gaps",
      packs: { total: 100, sent: 100, done: 99, failed: 1 },
      result: { generation: 1, complete: false, missing: [{ from: 7, to: 8 }] },
    });
    const records = (await failures(engine.client, "r")).failures;
    expect(records.length).toBeGreaterThan(0);
    for (const one of records) {
      expect(one).toMatchObject({
        pack: 7,
        chunks: { from: 7, to: 8 },
        message: "chunk 7: seven",
        attempts: 5,
      });
    }
    broken = false;
    expect(await told(engine, { kind: "retry" })).toBe("done");
    await engine.untilEnd("r");
    expect(await status(engine.client, "r")).toMatchObject({ word: "complete", result: { generation: 2 } });
    expect(await engine.result("r", 2)).toBe("[[0,100]]");
    expect(await findManifest(engine.client, "r", { generation: 1 })).toMatchObject({ complete: false });
    await expect(command(engine.client, "r", { kind: "retry" })).rejects.toMatchObject({
      code: "nothing-to-retry",
    });
  });

  it.each(["works", "has ended"])("to delete a run that %s leaves nothing of it", async (how) => {
    const engine = await working();
    if (how === "has ended") await engine.untilEnd("r");
    const { client, world, storage } = engine;
    const given = await world.finish(command(client, "r", { kind: "delete" }));
    await world.advance(10_000);
    await expect(status(client, "r")).rejects.toMatchObject({ code: "unknown-run" });
    expect(await runs(client)).toEqual({ runs: [] });
    await engine.submit({ id: "r", chunks: 10, packSize: 1 });
    await engine.untilEnd("r");
    expect(await engine.result("r")).toBe("[[0,10]]");
    const { blobNames } = storage.operator;
    const left = [...blobNames(simNames.runs), ...blobNames(simNames.results)].filter((name) =>
      name.startsWith(`r/${given.uid}/`),
    );
    // A worker that had begun may still write its partial.
    expect(left.filter((name) => how === "has ended" || !name.includes("/parts/"))).toEqual([]);
  });
});
