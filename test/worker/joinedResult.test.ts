import { hash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineConcatCalculation } from "../../src/engine/calculation/concat.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { answerSchema, failureSchema } from "../../src/engine/model/run.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { common, computeOf, inlineCode, workerWorld } from "./workerWorld.ts";

const finish: WorkMessage = { ...common, kind: "finish" };
const mb = 1024 * 1024;

/** Four packs of two chunks, of which the second pack has more than one block. */
const sizes = [3, 5, 3 * mb, 2 * mb + 1, 0, 0, 1, 7];
const chunkOf = (index: number): Uint8Array => new Uint8Array(sizes[index] ?? 0).fill(65 + index);
const whole = Buffer.concat([Buffer.from("head\n"), ...sizes.map((_, index) => chunkOf(index))]);

const rows: AnyCalculation = defineConcatCalculation({
  name: "rows",
  summary: "",
  params: z.object({}),
  plan: () => sizes.length,
  compute: ({ index }) => chunkOf(index),
  output: { contentType: "text/plain", extension: "txt", head: "head\n" },
});

async function computed(packs = [0, 1, 2, 3]) {
  const world = await workerWorld(inlineCode(rows));
  await world.submit({ calculation: "rows", params: {}, packSize: 2 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  for (const pack of packs) await world.work(computeOf(plan, pack));
  return world;
}

const resultsOf = ({ list }: Awaited<ReturnType<typeof computed>>) =>
  list("results").filter((name) => name.includes("/result."));

async function failureOf(world: Awaited<ReturnType<typeof computed>>) {
  const name = "r/u/failed/finish.001.001";
  return decodeJson(failureSchema, await world.bytesOf(world.names.runs, name), name);
}

/** Does something at the second read of a file. */
function atSecondRead(
  { storage: { blobs } }: Awaited<ReturnType<typeof computed>>,
  does: () => Promise<unknown>,
) {
  const stream = blobs.stream.bind(blobs);
  let reads = 0;
  Object.assign(blobs, {
    async stream(...call: Parameters<BlobStore["stream"]>) {
      reads += 1;
      if (reads === 2) await does();
      return stream(...call);
    },
  });
}

test("the files of all packs become one result in order, with its bytes and their hash in the manifest", async () => {
  const world = await computed();
  expect(world.list("results").filter((name) => name.startsWith("files/"))).toHaveLength(3);
  await world.work(finish);
  const { blob, bytes, sha256, contentType, complete } = await world.manifest();
  const found = await world.bytesOf(world.names.results, blob);
  expect(Buffer.compare(found, whole)).toBe(0);
  expect({ bytes, sha256 }).toEqual({ bytes: whole.length, sha256: hash("sha256", whole) });
  expect([contentType, complete, blob.endsWith("/result.txt")]).toEqual(["text/plain", true, true]);
});

test("an answer so far has what is done, in order", async () => {
  const world = await computed([0, 3]);
  await world.work({ ...common, kind: "sofar", tag: "ask", nodes: "", open: [0] });
  const name = "r/u/answers/ask";
  const answer = decodeJson(answerSchema, await world.bytesOf(world.names.results, name), name);
  if (!answer.ok) throw new Error(answer.message);
  const body = await world.bytesOf(world.names.results, answer.blob);
  expect(Buffer.from(body).toString()).toBe("head\nAAABBBBBGHHHHHHH");
  expect(answer).toMatchObject({ bytes: body.length, folded: 4, sha256: hash("sha256", body) });
});

test("a file that is gone ends the finish as lost storage, and leaves no result", async () => {
  const world = await computed();
  const [name = ""] = world.list("results");
  await world.storage.blobs.remove(world.names.results, `r/u/${name}`);
  await world.work(finish);
  expect(await failureOf(world)).toMatchObject({
    cause: "storage-lost",
    message: expect.stringMatching(/is gone$/),
  });
  expect(resultsOf(world)).toEqual([]);
});

test("a run that is deleted while its files are joined gets no manifest, and its result is removed", async () => {
  const world = await computed();
  atSecondRead(world, async () => {
    await world.unmark();
    await world.world.advance(20_000);
  });
  await world.world.finish(world.work(finish), 60_000);
  expect(world.list("results").filter((name) => !/^(files|001\/hashes)\//.test(name))).toEqual([]);
});
