import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { MessageOf, WorkMessage } from "../../src/engine/model/message.ts";
import { answerSchema } from "../../src/engine/model/run.ts";
import { treeText } from "../support/plainTree.ts";
import { at, common, computeOf, inlineCode, joining, results, workerWorld } from "./workerWorld.ts";

/** Sixteen chunks in packs of one: four shards of four. */
async function working(params: object = {}, calculation: AnyCalculation = joining) {
  const tree = { directPacksMax: 2, shardPacksMax: 4, fanIn: 2 };
  const world = await workerWorld(inlineCode(calculation), { tree, foldBytesMax: 60 });
  await world.submit({ calculation: "joining", params: { chunks: 16, ...params }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  const compute = async (...packs: number[]) => {
    for (const pack of packs) await world.work(computeOf(plan, pack));
  };
  const combine = (index: number, members?: string, gen = 1) =>
    world.work({
      ...{ ...common, gen, kind: "combine", level: 1, index },
      ...(members === undefined ? {} : { members }),
    });
  const answer = async (tag = "t") =>
    decodeJson(answerSchema, await world.bytesOf(world.names.results, results.answer(tag)), "answer");
  const text = async (): Promise<unknown> => {
    const given = await answer();
    if (!given.ok) return given;
    const body = await world.bytesOf(world.names.results, given.blob);
    const sha256 = hash("sha256", body);
    expect({ bytes: body.length, sha256 }).toEqual({ bytes: given.bytes, sha256: given.sha256 });
    return JSON.parse(Buffer.from(body).toString());
  };
  return { world, plan, compute, combine, answer, text };
}

function asking(nodes: number[], open: number[], more: Partial<MessageOf<"sofar">> = {}): MessageOf<"sofar"> {
  const bits = emptyBitmap(4);
  for (const shard of nodes) setBit(bits, shard);
  return { ...common, kind: "sofar", tag: "t", nodes: encodeBitmap(bits), open, ...more };
}

describe("an answer while the run works", () => {
  test("folds nodes and the partials of open shards in index order, and lists the chunks that it covers", async () => {
    const { world, compute, combine, answer, text } = await working();
    await compute(0, 1, 3, 6, 7, 12, 13, 14, 15);
    await combine(0, "Cw");
    await combine(3);
    const before = world.list("runs");
    await world.work(asking([0, 3], [1, 2]));
    expect(await text()).toEqual({ text: "0,1,3,6,7,12,13,14,15", folded: 9, count: 16 });
    expect(await answer()).toMatchObject({
      ...{ ok: true, run: "r", uid: "u", generation: 1, contentType: "application/json" },
      ...{ chunks: 16, folded: 9 },
      covers: [
        { from: 0, to: 2 },
        { from: 3, to: 4 },
        { from: 6, to: 8 },
        { from: 12, to: 16 },
      ],
    });
    expect(world.list("runs")).toEqual(before);
    const answers = world.list("results").filter((name) => name.startsWith("answers/"));
    expect(answers).toEqual(["answers/t", expect.stringMatching(/^answers\/t\.1-1-[0-9a-f]{8}\.json$/)]);
  });

  test("merges as a run would that ended with these chunks", async () => {
    const merge: AnyCalculation["merge"] = (a, b) => ({ text: `(${a.text} ${b.text})`, pad: "" });
    const { world, compute, combine, text } = await working({}, { ...joining, merge });
    const chunks = [0, 1, 3, 6, 7, 11, 12, 13, 14, 15];
    await compute(...chunks);
    await combine(0, "Cw");
    await combine(3);
    await world.work(asking([0, 3], [1, 2]));
    expect(await text()).toMatchObject({ text: treeText(16, (chunk) => chunks.includes(chunk)) });
  });

  test("reads nodes in the generations that the message gives", async () => {
    const { world, compute, combine, text } = await working();
    await compute(0, 1, 2, 4, 5, 6, 7);
    await combine(0, "Bw");
    await combine(1);
    await compute(3);
    await world.mark({ generation: 2 });
    await combine(0, undefined, 2);
    await world.work(asking([0, 1], [], { gen: 2, childGens: "2,1x3" }));
    expect(await text()).toMatchObject({ text: "0,1,2,3,4,5,6,7", folded: 8 });
  });

  test("is given for a run that has ended without a result, and so has no marker", async () => {
    const { world, compute, combine, text } = await working();
    await compute(0, 1, 2, 3, 5);
    await combine(0);
    await world.unmark();
    await world.work(asking([0], [1]));
    expect(await text()).toEqual({ text: "0,1,2,3,5", folded: 5, count: 16 });
  });

  test("of a run without outputs is the calculation's zero", async () => {
    const { world, answer, text } = await working();
    await world.work(asking([], [0, 1, 2, 3]));
    expect(await text()).toEqual({ text: "", folded: 0, count: 16 });
    expect(await answer()).toMatchObject({ covers: [] });
  });

  test("leaves out outputs that are deleted meanwhile", async () => {
    // Too large for metadata, so that a partial can be listed and gone before it is read.
    const { world, compute, combine, answer, text } = await working({ pad: 5_000 });
    await compute(0, 1, 2, 3, 4, 5);
    await combine(0);
    const { list } = world.storage.blobs;
    Object.assign(world.storage.blobs, {
      list: async (...args: Parameters<typeof list>) => {
        const page = await list(...args);
        await world.storage.blobs.remove(world.names.runs, at.part(1, 4));
        return page;
      },
    });
    // Shard 2 is said to have a node, and has none.
    await world.work(asking([0, 2], [1]));
    expect(await text()).toMatchObject({ text: "0,1,2,3,5", folded: 5 });
    expect(await answer()).toMatchObject({
      covers: [
        { from: 0, to: 4 },
        { from: 5, to: 6 },
      ],
    });
  });

  test("of a run that has its result says so", async () => {
    const { world, compute, combine, answer } = await working();
    await compute(...Array.from({ length: 16 }, (_, pack) => pack));
    for (const shard of [0, 1, 2, 3]) await combine(shard);
    for (const index of [0, 1]) await world.work({ ...common, kind: "combine", level: 2, index });
    await world.work({ ...common, kind: "finish" });
    await world.work({ ...common, kind: "cleanup" });
    await world.unmark();
    await world.work(asking([0, 1, 2, 3], []));
    expect(await answer()).toMatchObject({ ok: false, code: "finished" });
  });

  test("stands once it is written: a second delivery changes nothing", async () => {
    const { world, compute, answer } = await working();
    await compute(0);
    await world.work(asking([], [0]));
    const first = await answer();
    await compute(1);
    await world.work(asking([], [0]), { attempt: 2 });
    expect(await answer()).toEqual(first);
  });
});

describe("a question that cannot be answered", () => {
  const failing = async (more: Partial<MessageOf<"sofar">> = {}) => {
    const { world, compute, answer } = await working();
    await compute(0);
    const fails: typeof world.ports.userCode.finish = () => Promise.reject(new Error("no finish"));
    Object.assign(world.ports.userCode, { finish: fails });
    return { world, answer, message: asking([], [0], more) };
  };

  test("is tried again by a copy, since one delivery is one attempt, and answered by the last attempt", async () => {
    const { world, answer, message } = await failing();
    await world.work(message);
    await expect(answer()).rejects.toThrow(/missing/);
    await world.world.advance(31_000);
    expect(await world.messages("urgent")).toEqual([{ ...message, tries: 1 }]);
    await world.work({ ...message, tries: 4 });
    expect(await answer()).toMatchObject({ ok: false, code: "unexpected", message: "no finish" });
    expect(world.list("runs").filter((name) => name.startsWith("failed/"))).toEqual([]);
  });

  test("because it is malformed is answered at once", async () => {
    const { world, answer, message } = await failing({ childGens: "1x9" });
    await world.work(message);
    expect(await answer()).toMatchObject({ ok: false, code: "bad-generations" });
  });

  test.each<[string, WorkMessage, RegExp]>([
    ["so far", asking([], [0]), /^answers\/t$/],
    ["verify", { ...common, kind: "verify", tag: "t", pack: 3 }, /^answers\/t\/00000003$/],
  ])("because its message was poisoned (%s) is told by the poison handler", async (_what, message, name) => {
    const { world } = await working();
    // Clients also ask about runs that have ended.
    await world.unmark();
    await world.poison(message);
    const [answer] = world.list("results");
    expect(answer).toMatch(name);
    expect(Buffer.from(await world.bytesOf(world.names.results, `r/u/${answer}`)).toString()).toMatch(
      /poison/,
    );
    expect(world.list("runs").filter((one) => one.startsWith("failed/"))).toEqual([]);
  });
});
