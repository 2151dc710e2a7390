import { expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { failureSchema, type Plan } from "../../src/engine/model/run.ts";
import { at, common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const failing: AnyCalculation = {
  ...joining,
  compute(chunk) {
    if (chunk.index === 4) throw new Error("bad");
    return joining.compute(chunk);
  },
};

/** The only attempt at the second pack of a run that tolerates a failed chunk, under a plan of this version. */
async function computed(v: Plan["v"]) {
  const world = await workerWorld(inlineCode(failing));
  await world.submit({ params: { chunks: 6 }, packSize: 3, attempts: 1, tolerate: { chunks: 1 } });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  await world.storage.blobs.remove(world.names.runs, at.plan);
  await world.storage.blobs.create(world.names.runs, at.plan, JSON.stringify({ ...plan, v }));
  await world.work(computeOf(plan, 1));
  const record = await world.bytesOf(world.names.runs, at.failure({ kind: "pack", shard: 0, pack: 1 }, 1, 1));
  return {
    planned: plan.v,
    outputs: world.list("runs"),
    failure: decodeJson(failureSchema, record, "record"),
  };
}

test("a chunk that fails is a gap of its pack, and the record of the send tells it", async () => {
  const { planned, outputs, failure } = await computed(4);
  expect(planned).toBe(4);
  expect(outputs).toContain("nodes/001/0/00000001");
  expect(failure.gaps).toMatchObject({ failed: 1, first: [{ chunk: 4 }] });
});

test("a chunk that fails takes its pack with it under the plan of a version that knows no gaps", async () => {
  const { outputs, failure } = await computed(2);
  expect(outputs.filter((name) => name.startsWith("nodes/"))).toEqual([]);
  expect(failure).not.toHaveProperty("gaps");
  expect(failure.message).toMatch(/^chunk 4: /);
});
