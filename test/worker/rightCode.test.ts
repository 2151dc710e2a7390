import { expect, test } from "vitest";
import { InputError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { parseOutputFacts, planTag } from "../../src/engine/model/output.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { planOf } from "../support/runFixtures.ts";
import { workerWorld } from "./workerWorld.ts";

/** Which code computes, and what a worker with other code does with a message. */
const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;
const plan: WorkMessage = { ...common, kind: "plan", code: "sum@1" };
const compute: WorkMessage = { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 };
const at = runBlobs("r", "u");

const done = async () => ({ bytes: Buffer.from("1"), ms: 1 });
const userCode = {
  hold: async () => () => {},
  plan: async () => ({ chunks: 4, list: false }),
  compute: done,
  fold: done,
  ask: async () => false,
  finish: async () => ({ body: Buffer.from("1"), contentType: "text/plain", extension: "txt", ms: 1 }),
  stop: async () => {},
};

async function worldOf(code: string | undefined, planned?: string, only?: readonly string[]) {
  const world = await workerWorld(userCode, {
    ...(only && { only: new Set(only) }),
    versionOf() {
      if (code === undefined) throw new InputError("unknown", "unknown-calculation", "there is none");
      return code;
    },
    checkParams(_name, params) {
      if ("wrong" in (params as object)) throw new InputError("invalid", "bad-parameter", "wrong: not known");
    },
  });
  await world.submit();
  if (planned !== undefined) {
    const text = JSON.stringify({ ...planOf(4), code: planned });
    await world.storage.blobs.create(world.names.runs, at.plan, text);
  }
  const names = () => world.list("runs");
  return { ...world, names: world.names, blobs: names };
}

test("a worker with the plan's code computes, and its partial carries the code", async () => {
  const world = await worldOf("sum@1", "sum@1");
  await world.work(compute);
  const part = await world.storage.blobs.head(world.names.runs, at.part(0, 0));
  expect(part.kind === "found" && parseOutputFacts(part.properties.contentType).code).toBe("sum@1");
});

test.each([
  ["other code", "sum@2"],
  ["no such calculation", undefined],
])("a worker with %s enqueues the message again and leaves one note for its generation", async (_, code) => {
  const world = await worldOf(code, "sum@1");
  await world.work(compute);
  await world.work({ ...compute, pack: 1, from: 1, to: 2 });
  expect(world.blobs().filter((name) => name.includes("parts/"))).toEqual([]);
  const notes = world.blobs().filter((name) => name.includes("failed/"));
  expect(notes).toEqual([expect.stringMatching(/failed\/code\.001\.[0-9a-f]{12}$/)]);
  expect(world.log.filter(({ event }) => event === "work-failed")).toHaveLength(1);
  expect(await world.messages("urgent")).toEqual([]);
  await world.world.advance(limits.otherCodeDelayS * 1_000 + 100);
  expect(await world.messages("urgent")).toHaveLength(2);
});

test("a worker that was told to compute other calculations only gives work to its neighbors, a client's question as well", async () => {
  const world = await worldOf("sum@1", "sum@1", ["others"]);
  await world.work(compute);
  expect(world.blobs().filter((name) => name.includes("parts/"))).toEqual([]);
  expect(world.blobs().filter((name) => name.includes("failed/code"))).toHaveLength(1);
  expect(world.log.filter(({ event }) => event === "work-failed")).toEqual([]);
  const asked: WorkMessage = { ...common, kind: "verify", tag: "t", pack: 0 };
  await world.work(asked);
  await world.world.advance(limits.retryDelayS * 1_000 + 100);
  expect(await world.messages("urgent")).toEqual([compute, { ...asked, tries: 1 }]);

  const takes = await worldOf("sum@1", "sum@1", ["sum"]);
  await takes.work(compute);
  expect(takes.blobs().filter((name) => name.includes("parts/"))).toHaveLength(1);
});

test("a run is planned only by the code that validated its parameters, and the plan records it", async () => {
  const other = await worldOf("sum@2");
  await other.work(plan);
  expect(other.blobs().some((name) => name.endsWith("plan.json"))).toBe(false);
  const right = await worldOf("sum@1");
  await right.work(plan);
  const text = Buffer.from(await right.bytesOf(right.names.runs, at.plan)).toString();
  expect(JSON.parse(text)).toMatchObject({ code: "sum@1", chunks: 4 });
});

test("parameters that the worker's own schema refuses end the plan before any chunk is computed", async () => {
  const world = await workerWorld(userCode, {
    versionOf: () => "sum@1",
    checkParams() {
      throw new InputError("invalid", "bad-parameter", "wrong: not known");
    },
  });
  await world.submit();
  await world.work(plan);
  const record = Buffer.from(await world.bytesOf(world.names.runs, `${at.root}failed/plan.001.001`));
  expect(JSON.parse(record.toString())).toMatchObject({
    ...{ code: "bad-parameter", final: true },
    message: "the parameters do not fit sum as the instances have it: wrong: not known",
  });
});

test("a partial of other code is replaced, and one of the right code stays", async () => {
  const world = await worldOf("sum@1", "sum@1");
  const { blobs } = world.storage;
  const { plan } = await world.named();
  const write = (code: string, pack: number) =>
    blobs.create(world.names.runs, at.part(0, pack), "x", {
      contentType: `a/b; ms=1; attempt=1; plan=${planTag(plan)}; code=${code}`,
    });
  await write("sum%402", 0);
  await write("sum%401", 1);
  await world.work({ ...compute, code: "sum@1" });
  await world.work({ ...compute, code: "sum@1", pack: 1, from: 1, to: 2 });
  expect(Buffer.from(await world.bytesOf(world.names.runs, at.part(0, 0))).toString()).toBe("1");
  expect(Buffer.from(await world.bytesOf(world.names.runs, at.part(0, 1))).toString()).toBe("x");
});
