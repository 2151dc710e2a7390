import { describe, expect, test } from "vitest";
import type { Plan, Spec } from "../../src/engine/model/run.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { documentHash } from "../../src/engine/model/storedSpec.ts";
import { processState } from "../../src/engine/worker/processState.ts";
import { heartbeatProcess } from "../support/heartbeatProcess.ts";
import { marker, spec, specOf } from "../support/runFixtures.ts";
import { at, common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

/** Somebody who may write `spec.json`, `plan.json` or a segment, and nothing else. */

const listing = {
  ...joining,
  plan: ({ chunks }: { chunks: number }) => Array.from({ length: chunks }, (_, i) => i),
};

async function planned(calculation: typeof joining = joining) {
  const world = await workerWorld(inlineCode(calculation));
  const asked: Spec = specOf({ ...spec, params: { chunks: 4 }, packSize: 2 });
  await world.submit(asked);
  const named = documentHash(JSON.stringify(asked));
  await world.mark({ spec: named });
  await world.work({ ...common, kind: "plan", spec: named });
  const body = await world.bytesOf(world.names.runs, at.plan);
  const put = (name: string, forged: unknown): void =>
    world.storage.operator.overwriteBlob(world.names.runs, name, JSON.stringify(forged));
  return {
    ...world,
    ...{ asked, named, put, plan: await world.plan(), planHash: documentHash(body) },
    /** Another process, which has read nothing yet. */
    restart: () => Object.assign(world.ports, processState(world.ports, heartbeatProcess())),
    failures: () => world.list("runs").filter((name) => name.startsWith("failed/")),
    partials: () => world.list("runs").filter((name) => name.startsWith("parts/")),
    ended: async () => {
      const [name = ""] = world.list("runs").filter((one) => one.startsWith("failed/"));
      return JSON.parse(Buffer.from(await world.bytesOf(world.names.runs, at.root + name)).toString());
    },
  };
}

describe("a spec that was replaced", () => {
  const forged = specOf({ ...spec, params: { chunks: 4, pad: 3 }, packSize: 2 });

  test("is not computed: the send ends with `spec-differs` and without a partial", async () => {
    const world = await planned();
    world.put(specBlob("r"), forged);
    world.restart();
    await world.work({ ...computeOf(world.plan, 0), spec: world.named, plan: world.planHash });
    expect(world.partials()).toEqual([]);
    expect(await world.ended()).toMatchObject({ code: "spec-differs", cause: "error" });
  });

  test("is not computed for a message that names no spec, because the marker names it", async () => {
    const world = await planned();
    world.put(specBlob("r"), forged);
    world.restart();
    await world.work(computeOf(world.plan, 0));
    expect(world.partials()).toEqual([]);
    expect(await world.ended()).toMatchObject({ code: "spec-differs" });
  });

  test("is not computed with the hash of its own request kept from the true one", async () => {
    const world = await planned();
    world.put(specBlob("r"), { ...world.asked, params: { chunks: 4, pad: 3 } });
    await world.mark({});
    world.restart();
    await world.work(computeOf(world.plan, 0));
    expect(world.partials()).toEqual([]);
    expect((await world.ended()).message).toMatch("requestHash is not that of its request");
  });

  test("is not asked for by a message that names it, because the marker names another", async () => {
    const world = await planned();
    world.put(specBlob("r"), forged);
    world.restart();
    await world.work({ ...computeOf(world.plan, 0), spec: documentHash(JSON.stringify(forged)) });
    expect(world.partials()).toEqual([]);
    expect(world.failures()).toEqual([]);
  });

  test("is computed where nothing names another, as in a run of an earlier version", async () => {
    const world = await planned();
    await world.mark({ ...marker, spec: undefined });
    world.put(specBlob("r"), forged);
    world.restart();
    await world.work(computeOf(world.plan, 0));
    expect(world.partials()).toHaveLength(1);
  });
});

test("a plan that was replaced is not computed", async () => {
  const world = await planned();
  world.put(at.plan, { ...world.plan, chunks: 3 } satisfies Plan);
  world.restart();
  await world.work({ ...computeOf(world.plan, 0), spec: world.named, plan: world.planHash });
  expect(world.partials()).toEqual([]);
  expect(await world.ended()).toMatchObject({ code: "plan-differs" });
});

test("inputs that were replaced are not computed", async () => {
  const world = await planned(listing as typeof joining);
  world.put(at.segment(world.plan.segments?.attempt ?? "", 0), { v: 1, from: 0, inputs: [3, 2, 1, 0] });
  world.restart();
  await world.work({ ...computeOf(world.plan, 0), spec: world.named, plan: world.planHash });
  expect(world.partials()).toEqual([]);
  expect(await world.ended()).toMatchObject({ code: "segment-differs" });
});

test("plan and manifest name the spec and the plan that they come from", async () => {
  const world = await planned();
  expect(world.plan.spec).toBe(world.named);
  for (const pack of [0, 1]) await world.work(computeOf(world.plan, pack));
  await world.work({ ...common, kind: "finish", spec: world.named, plan: world.planHash });
  expect(await world.manifest()).toMatchObject({ spec: world.named, plan: world.planHash });
});
