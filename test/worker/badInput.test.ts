import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { noAccess } from "../../src/engine/calculation/files.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { failureSchema } from "../../src/engine/model/run.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { common, computeOf, workerWorld } from "./workerWorld.ts";

/** A message of the last attempt that a send has by default. */
const last = <Message extends WorkMessage>(message: Message): Message => ({ ...message, tries: 4 });
const plan: WorkMessage = { ...common, kind: "plan" };
let pool: UserCode;

beforeAll(() => {
  const files = [join(import.meta.dirname, "bad.calculation.ts")];
  pool = threadPool({ threads: 1, memoryMb: 256, files, access: noAccess, onIdleCrash: () => {} });
});
afterAll(() => pool.stop());

/** A worker with real threads; trees are two wide, so that eight chunks have three levels. */
async function worker(bad: string, more: { chunks?: number; packLimitMs?: number } = {}) {
  const { packLimitMs = 20_000, chunks = 8 } = more;
  const tree = { directPacksMax: 1, shardPacksMax: 1, fanIn: 2 };
  const world = await workerWorld(pool, { tree, packLimitMs });
  await world.submit({ calculation: "bad", params: { bad, chunks }, packSize: 1 });
  const failure = async (name: string) =>
    decodeJson(failureSchema, await world.bytesOf(world.names.runs, `r/u/failed/${name}`), name);
  return { ...world, failure };
}

describe("a plan", () => {
  test.each([
    ["a throw half-way", "throws", "calculation-threw", /^plan: half-way \(bad\.calculation\.ts:\d+\)$/],
    ["a thread that ends half-way", "exits", "thread-exited", /exited with code: 3/],
  ])(
    "with %s is tried again by a copy at once, and then recorded: there is no plan.json",
    async (_what, bad, code, message) => {
      const world = await worker(bad);
      await world.work(plan);
      expect(world.list("runs").filter((name) => name.startsWith("failed/"))).toEqual([
        "failed/plan.001.001.tried",
      ]);
      expect(await world.failure("plan.001.001.tried")).toMatchObject({ code, attempts: 1, attemptsMax: 5 });
      expect(await world.messages("urgent")).toEqual([{ ...plan, tries: 1 }]);
      await world.work(last(plan));
      const failure = await world.failure("plan.001.001");
      expect(failure).toMatchObject({ cause: "error", code, attempts: 5, attemptsMax: 5 });
      expect(failure.message).toMatch(message);
      expect(world.list("runs")).not.toContain("plan.json");
    },
  );

  test.each([
    [
      "an input of 100 KB",
      "large",
      "input-too-large",
      /chunk 4 has 102402 bytes; .* 65536 \(inputBytesMax\)/,
    ],
    ["10,000,001 chunks", "many", "too-many-chunks", /the limit is 10000000 \(chunksMax\)/],
  ])("with %s fails every time and ends at its first attempt", async (_what, bad, code, message) => {
    const world = await worker(bad);
    await world.work(plan);
    const failure = await world.failure("plan.001.001");
    expect(failure).toMatchObject({ cause: "error", code, attempts: 1, final: true });
    expect(failure.message).toMatch(message);
    expect(await world.messages("urgent")).toEqual([]);
    expect(world.list("runs")).not.toContain("plan.json");
  });

  test.each(["hangs", "stalls"])(
    "that never ends (%s) is ended at the time limit, and its send with it",
    async (bad) => {
      const world = await worker(bad, { packLimitMs: 700 });
      await world.work(plan);
      const failure = await world.failure("plan.001.001");
      expect(await world.messages("urgent")).toEqual([]);
      expect(failure).toMatchObject({ code: "time-limit", message: expect.stringContaining("0.7 s") });
      expect(world.list("runs")).not.toContain("plan.json");
      // The thread that took its place works.
      const next = await worker("none");
      await next.work(plan);
      expect(await next.plan()).toMatchObject({ chunks: 8 });
    },
  );
});

describe("a run", () => {
  test("with a partial above the limit fails that pack at its first attempt, by the limit's name", async () => {
    const world = await worker("partial");
    await world.work(plan);
    const planned = await world.plan();
    for (const pack of [2, 3]) await world.work(computeOf(planned, pack));
    expect(await world.failure("00003/00000003.001.001")).toMatchObject({
      code: "partial-too-large",
      message: expect.stringMatching(/the limit is 33554432 \(partialBytesMax\)/),
      ...{ chunks: { from: 3, to: 4 }, attempts: 1, final: true },
    });
    expect(world.list("runs").filter((name) => name.startsWith("parts/"))).toEqual(["parts/00002/00000002"]);
  });

  test("whose merge throws only in the third level fails there, and nowhere else", async () => {
    const world = await worker("merge");
    await world.work(plan);
    const planned = await world.plan();
    for (let pack = 0; pack < 8; pack += 1) await world.work(computeOf(planned, pack));
    for (const [place, count] of [8, 4, 2].entries()) {
      for (let index = 0; index < count; index += 1) {
        await world.work(last({ ...common, kind: "combine", level: place + 1, index }));
      }
    }
    expect(world.list("runs").filter((name) => name.startsWith("failed/"))).toEqual([
      "failed/node/3/00000.001.001",
      "failed/node/3/00001.001.001",
    ]);
    expect(await world.failure("node/3/00000.001.001")).toMatchObject({
      code: "calculation-threw",
      message: expect.stringMatching(/^merge: merge met 4 chunks \(bad\.calculation\.ts:\d+\)$/),
    });
  });

  test("whose finish throws has no manifest", async () => {
    const world = await worker("finish", { chunks: 1 });
    await world.work(plan);
    await world.work(computeOf(await world.plan(), 0));
    await world.work(last({ ...common, kind: "finish" }));
    const failure = await world.failure("finish.001.001");
    expect(failure).toMatchObject({
      code: "calculation-threw",
      message: expect.stringMatching(/^finish: finish was told to throw \(bad/),
    });
    expect(world.list("results").filter((name) => !name.includes("hashes"))).toEqual([]);
  });
});
