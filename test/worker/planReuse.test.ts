import { expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { indexesOf, packsOf, packsOfShard, shardsOf, sizeOf } from "../../src/engine/model/packs.ts";
import { packsReused } from "../../src/engine/model/reuse.ts";
import { answerSchema, type Plan, planSchema } from "../../src/engine/model/run.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { documentHash } from "../../src/engine/model/storedSpec.ts";
import {
  at,
  common,
  computeOf,
  inlineCode,
  joining,
  results,
  type WorkerWorld,
  workerWorld,
} from "./workerWorld.ts";

const anew = { ...common, gen: 2, origin: 2 };

/** A run that is planned and computed for these inputs, then planned anew for the later ones, of which it reuses what it has. */
async function plannedTwice(
  first: readonly string[],
  later: readonly string[],
  packSize?: number,
  beforeRetry: (world: WorkerWorld, plan: Plan) => Promise<void> = async () => {},
) {
  let [listed, merges] = [first, 0];
  const listing: AnyCalculation = {
    ...joining,
    byInput: true,
    plan: () => listed,
    compute: ({ input }) => ({ text: String(input), pad: "" }),
    merge(...args) {
      merges += 1;
      return joining.merge(...args);
    },
  };
  const world = await workerWorld(inlineCode(listing));
  await world.submit(packSize === undefined ? {} : { packSize });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  const earlier = { run: "r", uid: "u", plan: documentHash(await world.bytesOf(world.names.runs, at.plan)) };
  for (let pack = 0; pack < packsOf(plan); pack += 1)
    await world.work({ ...computeOf(plan, pack), plan: earlier.plan } as WorkMessage);
  const computed = { ...common, plan: earlier.plan };
  for (let index = 0; index < shardsOf(plan); index += 1)
    await world.work({ ...computed, kind: "combine", level: 1, index });
  await beforeRetry(world, plan);
  listed = later;
  await world.mark({ generation: 2 });
  await world.work({ ...anew, kind: "plan", earlier });
  const name = runBlobs("r", "u", 2).plan;
  const body = await world.bytesOf(world.names.runs, name);
  const second: Plan = decodeJson(planSchema, body, name);
  const hash = documentHash(body);
  return {
    ...{ world, first: plan, second, hash },
    /** Computes what is not reused and folds the shards. Returns the merges of these folds, and what they hold together. */
    async folded() {
      const reused = new Set(
        second.reused?.flatMap(({ packs }) => packs.flatMap(([from, to]) => indexesOf({ from, to }))),
      );
      const of = { ...anew, plan: hash };
      for (let pack = 0; pack < packsOf(second); pack += 1)
        if (!reused.has(pack)) await world.work({ ...computeOf(second, pack, 2), ...of } as WorkMessage);
      merges = 0;
      const texts: string[] = [];
      for (let index = 0; index < shardsOf(second); index += 1) {
        await world.work({ ...of, kind: "combine", level: 1, index });
        const node = await world.bytesOf(world.names.runs, runBlobs("r", "u", 2).node(2, 1, index));
        texts.push(JSON.parse(Buffer.from(node).toString()).text);
      }
      return { merges, text: texts.join() };
    },
  };
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

test("whole shards of reused packs are merged no more: one changed pack of a thousand costs some sixty merges", async () => {
  const changed = inputs(1_000).with(7, "new");
  const { first, folded } = await plannedTwice(inputs(1_000), changed, 1);
  const { merges, text } = await folded();
  expect(text).toBe(changed.join());
  // The first node and the last, which is short, are merged anew; the nodes of 512 packs take 15 merges each.
  expect(first.shardSize).toBe(32);
  expect(merges).toBe(31 + 15 + (7 + 15));
});

test("packs that moved by whole shards take their nodes along, and others are merged again", async () => {
  const moved = [...inputs(32, "x"), ...inputs(1_000)];
  const whole = await (await plannedTwice(inputs(1_000), moved, 1)).folded();
  expect(whole).toEqual({ text: moved.join(), merges: expect.any(Number) });
  expect(whole.merges).toBeLessThan(100);
  const byOne = ["x", ...inputs(1_000)];
  const others = await (await plannedTwice(inputs(1_000), byOne, 1)).folded();
  expect(others).toEqual({ text: byOne.join(), merges: expect.any(Number) });
  expect(others.merges).toBeGreaterThan(900);
});

test.each([
  [
    "is gone",
    async ({ storage, names }: WorkerWorld, node: string) =>
      void (await storage.blobs.remove(names.runs, node)),
  ],
  [
    "lacks a pack",
    (world: WorkerWorld, node: string) => rewrite(world, node, (text) => text, { folded: "31" }),
  ],
  [
    "is of other code",
    (world: WorkerWorld, node: string) => rewrite(world, node, (text) => text, { code: "code@2" }),
  ],
  [
    "is of another plan",
    (world: WorkerWorld, node: string) =>
      rewrite(world, node, (text) => text.replace(/plan=\w+/, "plan=other")),
  ],
])("a node that %s is not taken, and its partials are merged", async (_, change) => {
  const changed = inputs(1_000).with(7, "new");
  const twice = await plannedTwice(inputs(1_000), changed, 1, (world) => change(world, at.node(1, 1, 3)));
  expect(await twice.folded()).toEqual({ text: changed.join(), merges: 31 + 15 + (7 + 15) + 31 });
});

test("where a node does not decode, its shard takes none", async () => {
  const changed = inputs(1_000).with(7, "new");
  const twice = await plannedTwice(inputs(1_000), changed, 1, (world) =>
    rewrite(world, at.node(1, 1, 3), (text) => text, { folded: "many" }),
  );
  const { text, merges } = await twice.folded();
  expect(text).toBe(changed.join());
  expect(merges).toBe(511 + (7 + 15));
});

test("a node with a pack that its shard gave up is not taken", async () => {
  const { world, second, hash } = await plannedTwice(inputs(1_000), inputs(1_000).with(7, "new"), 1);
  const members = emptyBitmap(sizeOf(packsOfShard(second, 1)));
  for (let at = 0; at < sizeOf(packsOfShard(second, 1)); at += 1) if (at !== 40) setBit(members, at);
  await world.work({
    ...anew,
    plan: hash,
    kind: "combine",
    level: 1,
    index: 1,
    members: encodeBitmap(members),
  });
  const node = await world.bytesOf(world.names.runs, runBlobs("r", "u", 2).node(2, 1, 1));
  const { from, to } = packsOfShard(second, 1);
  const kept = inputs(1_000).filter((_, at) => at >= from && at < to && at !== from + 40);
  expect(JSON.parse(Buffer.from(node).toString()).text).toBe(kept.join());
});

/** The node with another content type or other metadata, and with other bytes, so that it shows where it is taken. */
async function rewrite(
  { storage, names }: WorkerWorld,
  node: string,
  contentType: (text: string) => string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const found = await storage.blobs.head(names.runs, node);
  if (found.kind === "missing") throw new Error(`${node} is missing`);
  const { properties } = found;
  const bytes = Buffer.from('{"text":"wrong","pad":""}');
  await storage.blobs.replace(names.runs, node, bytes, {
    contentType: contentType(properties.contentType),
    metadata: { ...properties.metadata, data: bytes.toString("base64url"), ...more },
    ifMatch: properties.etag,
  });
}

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
