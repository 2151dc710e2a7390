import { expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { failureSchema } from "../../src/engine/model/run.ts";
import { at, common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const failing: AnyCalculation = {
  ...joining,
  compute(chunk) {
    if (chunk.index === 4) throw new Error("bad");
    return joining.compute(chunk);
  },
};

test("a chunk that fails is a gap of its pack, and the record of the send tells it", async () => {
  const world = await workerWorld(inlineCode(failing));
  await world.submit({ params: { chunks: 6 }, packSize: 3, attempts: 1, tolerate: { chunks: 1 } });
  await world.work({ ...common, kind: "plan" });
  await world.work(computeOf(await world.plan(), 1));
  const record = await world.bytesOf(world.names.runs, at.failure({ kind: "pack", shard: 0, pack: 1 }, 1, 1));
  expect(world.list("runs")).toContain("nodes/001/0/00000001");
  const { gaps } = decodeJson(failureSchema, record, "record");
  expect(gaps).toMatchObject({ failed: 1, first: [{ chunk: 4 }] });
});
