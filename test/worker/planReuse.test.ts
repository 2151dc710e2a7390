import { expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { packsOf, shardsOf } from "../../src/engine/model/packs.ts";
import { packsReused } from "../../src/engine/model/reuse.ts";
import { answerSchema, type Plan, planSchema } from "../../src/engine/model/run.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { documentHash } from "../../src/engine/model/storedSpec.ts";
import { at, common, computeOf, inlineCode, joining, results, workerWorld } from "./workerWorld.ts";

const anew = { ...common, gen: 2, origin: 2 };

/** A run that is planned and computed for these inputs, then planned anew for the later ones, of which it reuses what it has. */
async function plannedTwice(first: readonly string[], later: readonly string[], packSize?: number) {
  let listed = first;
  const listing: AnyCalculation = {
    ...joining,
    byInput: true,
    plan: () => listed,
    compute: ({ input }) => ({ text: String(input), pad: "" }),
  };
  const world = await workerWorld(inlineCode(listing));
  await world.submit(packSize === undefined ? {} : { packSize });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  const earlier = { run: "r", uid: "u", plan: documentHash(await world.bytesOf(world.names.runs, at.plan)) };
  for (let pack = 0; pack < packsOf(plan); pack += 1)
    await world.work({ ...computeOf(plan, pack), plan: earlier.plan } as WorkMessage);
  listed = later;
  await world.mark({ generation: 2 });
  await world.work({ ...anew, kind: "plan", earlier });
  const name = runBlobs("r", "u", 2).plan;
  const body = await world.bytesOf(world.names.runs, name);
  const second: Plan = decodeJson(planSchema, body, name);
  return { world, first: plan, second, hash: documentHash(body) };
}

const inputs = (count: number, mark = ""): string[] =>
  Array.from({ length: count }, (_, at) => `${mark}${at}`);

test("packs keep the size of the plan before where that lets half of them be reused, and not for the sake of a few", async () => {
  const twice = await plannedTwice(inputs(8), inputs(16));
  expect(twice.second.packSize).toBe(twice.first.packSize);
  expect(packsReused(twice.second.reused)).toBe(1);
  const grown = await plannedTwice(inputs(8), inputs(20_000));
  expect(grown.first.packSize).toBe(8);
  expect(packsOf(grown.second)).toBeLessThan(200);
  expect(grown.second.reused).toBeUndefined();
});

test("a plan that computes one pack of a thousand has few shards, since each costs its node and lists", async () => {
  const { second } = await plannedTwice(inputs(1_000), inputs(1_000).with(7, "new"), 1);
  expect(packsReused(second.reused)).toBe(999);
  expect(shardsOf(second)).toBe(2);
});

test("an answer so far folds own and reused partials in the order of their packs", async () => {
  const changed = inputs(8).with(3, "new").with(6, "newer");
  const { world, second, hash } = await plannedTwice(inputs(8), changed, 1);
  const of = { ...anew, plan: hash };
  await world.work({ ...computeOf(second, 3, 2), ...of } as WorkMessage);
  await world.work({ ...of, kind: "sofar", tag: "t", nodes: "", open: [0] } as WorkMessage);
  const { results: container } = world.names;
  const bytes = await world.bytesOf(container, results.answer("t"));
  const answer = decodeJson(answerSchema, bytes, "answer");
  expect(answer).toMatchObject({
    ok: true,
    folded: 7,
    covers: [
      { from: 0, to: 6 },
      { from: 7, to: 8 },
    ],
  });
  const body = await world.bytesOf(container, "blob" in answer ? answer.blob : "");
  expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({ text: "0,1,2,new,4,5,7" });
});
