import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { readMarker, readPlan, readSpec } from "../../src/engine/client/runDocuments.ts";
import { status } from "../../src/engine/client/status.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { documentHash } from "../../src/engine/model/storedSpec.ts";
import { type EngineWorld, engineWorld, simNames } from "../support/engineWorld.ts";
import { specOf } from "../support/runFixtures.ts";

const request = { id: "r", chunks: 40, packSize: 2 };

/** Somebody who may write `spec.json` asks for fewer chunks under the name of the run. */
async function forgeSpec({ client, storage }: EngineWorld): Promise<string> {
  const spec = (await readSpec(client, "r"))?.value;
  if (spec === undefined) throw new Error("no spec");
  const forged = JSON.stringify(specOf({ ...spec, params: { chunks: 4, list: false } }));
  storage.operator.overwriteBlob(simNames.runs, specBlob("r"), forged);
  return documentHash(forged);
}

describe("a spec that was replaced", () => {
  it("before a leader came fails the run", async () => {
    const engine = engineWorld();
    await engine.submit(request);
    await forgeSpec(engine);
    engine.start();
    const failed = await engine.untilEnd("r");
    expect(failed).toMatchObject({ phase: "failed", error: { code: "spec-differs" } });
    expect(await engine.manifest("r")).toBeUndefined();
  });

  it("while its run was computed fails the run with the next leader", async () => {
    const engine = engineWorld({ code: { chunkMs: () => 2_000 } });
    await engine.submit(request);
    engine.start();
    await engine.world.advance(3_000);
    const before = await engine.state("r");
    expect(before).toMatchObject({ phase: "computing", spec: (await readSpec(engine.client, "r"))?.sha256 });
    await forgeSpec(engine);
    engine.instances[0]?.kill();
    engine.start();
    const end = await engine.untilEnd("r");
    expect(end).toMatchObject({ phase: "failed", error: { code: "spec-differs" } });
  });

  it("while its leader lives fails the run by the records of workers that had not read it", async () => {
    const engine = engineWorld({ code: { chunkMs: () => 2_000 } });
    await engine.submit(request);
    engine.start({ works: false });
    await engine.world.advance(3_000);
    await forgeSpec(engine);
    engine.start({ leads: false });
    const end = await engine.untilEnd("r");
    expect(end).toMatchObject({ phase: "failed" });
    expect(end.error?.message).toMatch("is not the one that its run began with");
  });

  it("after its run ended is not retried: the marker names that of the state", async () => {
    const engine = engineWorld({ code: { chunkMs: () => 2_000 } });
    await engine.submit(request);
    engine.start();
    await engine.world.advance(3_000);
    await engine.world.finish(command(engine.client, "r", { kind: "cancel" }));
    expect(await engine.untilEnd("r")).toMatchObject({ phase: "cancelled" });
    await engine.world.advance(5_000);
    const first = (await readSpec(engine.client, "r"))?.sha256;
    const forged = await forgeSpec(engine);
    await engine.world.finish(command(engine.client, "r", { kind: "retry" }));
    expect((await readMarker(engine.client, "r"))?.value.spec).toBe(first);
    expect(forged).not.toBe(first);
    await engine.world.advance(30_000);
    expect(await engine.manifest("r", 2)).toBeUndefined();
    expect((await status(engine.client, "r")).generation).toBe(1);
  });
});

it("a leader records the spec and the plan that it read, also for a marker that names none", async () => {
  const engine = engineWorld();
  await engine.submit(request);
  await engine.mark("r", ({ spec: _spec, ...marker }) => marker);
  engine.start();
  const { spec, plan, uid } = await engine.untilEnd("r");
  expect(spec).toBe((await readSpec(engine.client, "r"))?.sha256);
  expect(plan).toBe((await readPlan(engine.client, { run: "r", uid })).sha256);
  expect(await engine.manifest("r")).toMatchObject({ spec, plan });
});

it("a plan that was replaced while its run was computed fails the run", async () => {
  const engine = engineWorld({ code: { chunkMs: () => 2_000 } });
  await engine.submit(request);
  engine.start();
  await engine.world.advance(3_000);
  const { uid = "" } = (await engine.state("r")) ?? {};
  const { value } = await readPlan(engine.client, { run: "r", uid });
  const name = runBlobs("r", uid).plan;
  engine.storage.operator.overwriteBlob(simNames.runs, name, JSON.stringify({ ...value, calls: "" }));
  engine.instances[0]?.kill();
  engine.start();
  expect(await engine.untilEnd("r")).toMatchObject({ phase: "failed" });
});
