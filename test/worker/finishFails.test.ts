import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ResultBytes } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { calculationLimits, limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { failureSchema } from "../../src/engine/model/run.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { common, computeOf, inlineCode, joining, type WorkerWorld, workerWorld } from "./workerWorld.ts";

const finish: WorkMessage = { ...common, kind: "finish" };

/** A run of two computed chunks that only has to be finished; `made` is what its finish returns. */
async function computed(made?: () => ResultBytes) {
  const code = made === undefined ? joining : { ...joining, finish: made };
  const world = await workerWorld(inlineCode(code));
  await world.submit({ calculation: "joining", params: { chunks: 2 }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  for (const pack of [0, 1]) await world.work(computeOf(plan, pack));
  return world;
}

const resultsOf = (world: WorkerWorld): string[] =>
  world.list("results").filter((name) => name.includes("/result."));

/** Does the first create of a name that ends so in another way. */
function onFirstCreate(
  world: WorkerWorld,
  ending: string,
  instead: (create: () => ReturnType<BlobStore["create"]>) => ReturnType<BlobStore["create"]>,
): void {
  const { blobs } = world.storage;
  const create = blobs.create.bind(blobs);
  let met = false;
  Object.assign(blobs, {
    create(...call: Parameters<BlobStore["create"]>) {
      if (met || !call[1].endsWith(ending)) return create(...call);
      met = true;
      return instead(() => create(...call));
    },
  });
}

const busy = () => new StorageError("busy", "", undefined, "no answer");

describe("a result above resultBytesMax", () => {
  test("ends the run at its first attempt, in words, and nothing is uploaded", async () => {
    const body = new Uint8Array(calculationLimits.resultBytesMax + 1);
    const world = await computed(() => ({ body, contentType: "text/csv", extension: "csv" }));
    await world.work(finish);
    expect(world.list("results")).toEqual([]);
    expect(await world.messages("urgent")).toEqual([]);
    const name = "r/u/failed/finish.001.001";
    const failure = decodeJson(failureSchema, await world.bytesOf(world.names.runs, name), name);
    expect(failure).toMatchObject({
      ...{ code: "result-too-large", attempts: 1, final: true },
      message: "the result has 536870913 bytes; the limit is 536870912 (resultBytesMax)",
    });
  });
});

describe("a result's hash", () => {
  test("is that of all bytes, of which it takes a few at a time", async () => {
    const body = Buffer.alloc(40 * 1024 * 1024, "some text");
    const world = await computed(() => ({ body, contentType: "text/csv", extension: "csv" }));
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await world.work(finish);
    expect((await world.manifest()).sha256).toBe(hash("sha256", body));
    expect(turned).toBe(true);
  });
});

describe("a finish that leaves no manifest of its own", () => {
  test("removes the result that it may have uploaded if the upload fails", async () => {
    const world = await computed();
    onFirstCreate(world, "/result.json", async (create) => {
      await create();
      throw busy();
    });
    await world.work(finish);
    expect(world.list("results").filter((name) => name.includes("result."))).toEqual([]);
    await world.world.advance(limits.retryDelayS * 1_000 + 1);
    await world.host();
    expect(resultsOf(world)).toEqual([(await world.manifest()).blob.replace("r/u/", "")]);
  });

  test("removes its result once another attempt's manifest stands", async () => {
    const world = await computed();
    await world.work(finish);
    const first = await world.manifest();
    await world.work({ ...finish, send: 2 });
    expect(await world.manifest()).toEqual(first);
    expect(resultsOf(world)).toEqual([first.blob.replace("r/u/", "")]);
  });

  test("keeps its result if the answer of the manifest's create is lost, which another attempt then finds", async () => {
    const world = await computed();
    onFirstCreate(world, "manifest.json", async (create) => {
      await create();
      throw busy();
    });
    await world.work(finish);
    const { blob } = await world.manifest();
    expect(resultsOf(world)).toEqual([blob.replace("r/u/", "")]);
    await world.world.advance(limits.retryDelayS * 1_000 + 1);
    await world.host();
    expect([(await world.manifest()).blob, ...resultsOf(world)]).toEqual([blob, blob.replace("r/u/", "")]);
  });

  test("keeps its result if the manifest's create was not seen to happen, because it may happen late", async () => {
    const world = await computed();
    onFirstCreate(world, "manifest.json", () => Promise.reject(busy()));
    await world.work(finish);
    expect(resultsOf(world)).toHaveLength(1);
  });

  test("keeps its result if the manifest that exists is its own, made by a repeat of the same call", async () => {
    const world = await computed();
    onFirstCreate(world, "manifest.json", async (create) => {
      await create();
      return { kind: "existed" };
    });
    await world.work(finish);
    expect(resultsOf(world)).toEqual([(await world.manifest()).blob.replace("r/u/", "")]);
  });

  test("ends as it would if the removal fails", async () => {
    const world = await computed();
    await world.work(finish);
    world.storage.blobs.remove = () => Promise.reject(busy());
    await world.work({ ...finish, send: 2 });
    expect(resultsOf(world)).toHaveLength(2);
    expect(await world.messages("urgent")).toEqual([]);
  });
});
