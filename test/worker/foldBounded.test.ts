import { describe, expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const padBytes = 10_000;
const oneShard = { directPacksMax: 1, shardPacksMax: 100, fanIn: 100 };
const combine: WorkMessage = { ...common, kind: "combine", level: 1, index: 0 };

/** What a worker holds at once: bytes read and folded that no fold has taken in yet. */
async function foldedWith(foldBytesMax: number, pad = padBytes) {
  const folds: { parts: number; bytes: number }[] = [];
  const reads = { count: 0, now: 0, most: 0, mostBytes: 0 };
  let unfolded = 0;
  const code = inlineCode(joining);
  const watched: UserCode = {
    ...code,
    async fold(job, task) {
      const bytes = job.parts.reduce((sum, part) => sum + part.bytes.length, 0);
      folds.push({ parts: job.parts.length, bytes });
      const folded = await code.fold(job, task);
      unfolded = folded.bytes.length;
      return folded;
    },
  };
  const world = await workerWorld(watched, { tree: oneShard, foldBytesMax });
  await world.submit({ calculation: "joining", params: { chunks: 64, pad }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  for (let pack = 0; pack < 64; pack += 1) await world.work(computeOf(plan, pack));
  const { read } = world.storage.blobs;
  const counted: BlobStore["read"] = async (...args) => {
    if (!args[1].includes("/parts/")) return read(...args);
    reads.count += 1;
    reads.now += 1;
    reads.most = Math.max(reads.most, reads.now);
    await Promise.resolve();
    const found = await read(...args);
    reads.now -= 1;
    if (found.kind === "found") unfolded += found.body.length;
    reads.mostBytes = Math.max(reads.mostBytes, unfolded);
    return found;
  };
  Object.assign(world.storage.blobs, { read: counted });
  await world.work(combine);
  const node = Buffer.from(await world.bytesOf(world.names.runs, "r/u/nodes/001/1/00000")).toString();
  return { folds, reads, node: JSON.parse(node) as { text: string } };
}

// Shards of eight packs: the first shard is folded here.
const expected = Array.from({ length: 8 }, (_, index) => index).join(",");

describe("a fold in batches", () => {
  test("is one call if all outputs fit", async () => {
    const { folds, node, reads } = await foldedWith(limits.foldBytesMax);
    expect(folds.map(({ parts }) => parts)).toEqual([8]);
    expect(node.text).toBe(expected);
    expect(reads.most).toBeGreaterThan(1);
  });

  test("never holds more bytes than the limit, and gives the same bytes as one fold", async () => {
    const limit = 4.5 * padBytes;
    const { folds, node, reads } = await foldedWith(limit);
    // Four are one span, and three more fit beside it. They are three spans then, and the last one fits beside those.
    expect(folds.map(({ parts }) => parts)).toEqual([4, 4, 2]);
    expect(Math.max(...folds.map(({ bytes }) => bytes))).toBeLessThanOrEqual(limit);
    expect(reads.mostBytes).toBeLessThanOrEqual(limit);
    expect(node.text).toBe(expected);
  });

  test("folds two outputs at a time if the limit is too small for any", async () => {
    const { folds, node } = await foldedWith(1);
    expect(folds.map(({ parts }) => parts)).toEqual([2, 2, 2, 2, 2, 2, 2]);
    expect(node.text).toBe(expected);
  });

  test("makes no read for outputs that ride in the metadata", async () => {
    const { node, reads } = await foldedWith(limits.foldBytesMax, 0);
    expect(node.text).toBe(expected);
    expect(reads.count).toBe(0);
  });

  test("a pack whose spans are too large together fails for good, and the record says which sizes have one span", async () => {
    const bytes = new Uint8Array(limits.foldBytesMax + 1);
    const world = await workerWorld({ ...inlineCode(joining), compute: async () => ({ bytes, ms: 1 }) });
    await world.submit({ calculation: "joining", params: { chunks: 9 }, packSize: 3 });
    await world.work({ ...common, kind: "plan" });
    await world.work(computeOf(await world.plan(), 1));
    const [record = ""] = world.list("runs").filter((name) => name.startsWith("failed/"));
    const text = Buffer.from(await world.bytesOf(world.names.runs, `r/u/${record}`)).toString();
    expect(JSON.parse(text)).toMatchObject({
      code: "partial-too-large",
      final: true,
      message: expect.stringMatching(
        /67108865 bytes together; the limit is 67108864 .*power of two has one span/,
      ),
    });
    expect(world.list("runs").filter((name) => name.startsWith("parts/"))).toEqual([]);
  });

  test("has one time limit for all of its folds", async () => {
    const limitsMs: number[] = [];
    const code = inlineCode(joining);
    const world = await workerWorld(
      {
        ...code,
        async fold(job, task) {
          limitsMs.push(task.limitMs);
          return { ...(await code.fold(job, task)), ms: 400 };
        },
      },
      { tree: oneShard, foldBytesMax: 1, packLimitMs: 1_000 },
    );
    await world.submit({ calculation: "joining", params: { chunks: 16 }, packSize: 1 });
    await world.work({ ...common, kind: "plan" });
    for (let pack = 0; pack < 4; pack += 1) await world.work(computeOf(await world.plan(), pack));
    await world.work(combine);
    expect(limitsMs).toEqual([1_000, 600, 200]);
  });
});
