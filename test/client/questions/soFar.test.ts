import { describe, expect, it } from "vitest";
import { clientLimits } from "../../../src/engine/client/client.ts";
import { soFar, soFarMessage } from "../../../src/engine/client/questions/soFar.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { decodeBitmap, emptyBitmap, encodeBitmap, hasBit } from "../../../src/engine/model/bitmap.ts";
import { encodeMessage, type WorkMessage } from "../../../src/engine/model/message.ts";
import { firstState, type State } from "../../../src/engine/model/state.ts";
import { decodeGens } from "../../../src/engine/model/tree.ts";
import { clientWorld, counted, failureOf } from "../clientWorld.ts";
import { answeringWorker, answersLeft, putAnswer } from "./answeringWorker.ts";

type Ask = Extract<WorkMessage, { kind: "sofar" }>;

const layout = { chunks: 100, packSize: 1, shardSize: 10, fanIn: 1_000, packMs: 1 };
const open = { done: encodeBitmap(emptyBitmap(10)) };
const half = {
  text: "4950",
  chunks: 100,
  covers: [
    { from: 0, to: 30 },
    { from: 40, to: 60 },
  ],
};

async function computing(change: Partial<State> = {}) {
  const inner = await clientWorld();
  const run = await submit(inner.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  await inner.putState(run, { phase: "computing", layout, ...change });
  const ask = (options = {}) =>
    soFar(inner.client, "r1", options, async (answer, body) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      return { text: Buffer.concat(pieces).toString(), covers: answer.covers };
    });
  return { ...inner, run, ask };
}

describe("the answer so far", () => {
  it("is what a worker folded, with the chunks it covers, and leaves nothing behind", async () => {
    const world = await computing();
    answeringWorker(world, (message) => putAnswer(world, message as Ask, half));
    const told = await world.world.finish(world.ask());
    expect(told).toMatchObject({
      kind: "answered",
      answer: { folded: 50, chunks: 100, generation: 1 },
      value: { text: "4950", covers: half.covers },
    });
    expect(answersLeft(world)).toEqual([]);
  });

  it("is the result of a run that has one", async () => {
    const world = await computing();
    const manifest = await world.putResult(world.run, "1");
    await world.putState(world.run, { phase: "complete", layout });
    expect(await world.ask()).toEqual({ kind: "finished", manifest });
  });

  it("is the result if the run finished after the question was sent", async () => {
    const world = await computing();
    const asked = answeringWorker(world, async (message) => {
      await world.putResult(world.run, "1");
      await world.putState(world.run, { ...counted, phase: "finishing" });
      await putAnswer(world, message as Ask, { code: "finished", message: "it has its result" });
    });
    expect(await world.world.finish(world.ask())).toMatchObject({
      kind: "finished",
      manifest: { run: "r1" },
    });
    expect([asked.length, answersLeft(world)]).toEqual([1, []]);
  });

  it.each(["failed", "cancelled"] as const)(
    "is given for a %s run, which keeps its partials",
    async (phase) => {
      const sealed = { 0: { gen: 1, node: true }, 1: { gen: 1, node: false } };
      const world = await computing({ phase, sealed, open: { 4: open } });
      const asked = answeringWorker(world, (message) => putAnswer(world, message as Ask, half));
      expect(await world.world.finish(world.ask())).toMatchObject({
        kind: "answered",
        answer: { folded: 50 },
      });
      expect(asked).toMatchObject([{ kind: "sofar", gen: 1, open: [1, 4] }]);
      expect(answersLeft(world)).toEqual([]);
    },
  );

  it.each(["failed", "cancelled"] as const)(
    "is that of a %s retry, which hides no older result, and the result of a retry that has one",
    async (phase) => {
      const world = await computing();
      await world.putResult(world.run, "1");
      const sealed = { 0: { gen: 1, node: true } };
      await world.putState(world.run, { phase, layout, generation: 2, sealed, open: { 4: open } });
      const asked = answeringWorker(world, (message) => putAnswer(world, message as Ask, half));
      expect(await world.world.finish(world.ask())).toMatchObject({
        kind: "answered",
        answer: { folded: 50, generation: 2 },
      });
      expect(asked).toMatchObject([{ kind: "sofar", gen: 2, open: [4] }]);
      const manifest = await world.putResult(world.run, "2", { generation: 2 });
      await world.putState(world.run, { phase: "complete", layout, generation: 2 });
      expect(await world.ask()).toEqual({ kind: "finished", manifest });
    },
  );

  it("is refused for a retry that ended before it computed, with a hint at the older result", async () => {
    const world = await computing();
    await world.putResult(world.run, "1");
    await world.putState(world.run, { phase: "failed", generation: 2, layout: undefined });
    expect(await failureOf(world.ask())).toMatchObject({
      code: "run-failed",
      message:
        "run r1 failed in generation 2 and had computed nothing; an older result is given by its generation's number",
    });
  });

  it("is refused for a run that has computed nothing, also if it ended or waits for its retry", async () => {
    const world = await computing({ phase: "planning", layout: undefined });
    expect(await failureOf(world.ask())).toMatchObject({ code: "nothing-yet" });
    for (const phase of ["failed", "cancelled"] as const) {
      await world.putState(world.run, { phase });
      expect(await failureOf(world.ask())).toMatchObject({ code: `run-${phase}` });
    }
    await world.putState(world.run, { phase: "failed", layout });
    await world.putMarker(world.run, { generation: 2 });
    expect(await failureOf(world.ask())).toMatchObject({ code: "nothing-yet" });
  });

  it("fails with no-answer if no worker answers in time or the signal fires", async () => {
    const world = await computing();
    const given = failureOf(world.ask({ waitMs: 5_000 }));
    expect(await world.world.finish(given)).toMatchObject({
      code: "no-answer",
      message: "no worker answered for r1 within 5 s; they may all be busy, or none runs",
    });
    expect(world.world.nowMs()).toBeLessThan(7_000);
    const controller = new AbortController();
    world.client.clock.after(1_000, () => controller.abort());
    const stopped = failureOf(world.ask({ signal: controller.signal }));
    expect(await world.world.finish(stopped)).toMatchObject({ code: "no-answer" });
    expect(world.world.nowMs()).toBeLessThan(9_000);
  });

  it("fails with the calculation's own error", async () => {
    const world = await computing();
    const given = { code: "calculation-threw", message: "finish: no" };
    answeringWorker(world, (message) => putAnswer(world, message as Ask, given));
    expect(await failureOf(world.world.finish(world.ask()))).toMatchObject({
      code: "calculation-threw",
      message: "the answer so far of r1 failed: finish: no",
    });
    expect(answersLeft(world)).toEqual([]);
  });

  it("fails for bytes that differ from its hash, and for missing bytes", async () => {
    const world = await computing();
    let change: object = { sha256: "00" };
    answeringWorker(world, (message) => putAnswer(world, message as Ask, half, change));
    expect(await failureOf(world.world.finish(world.ask()))).toMatchObject({ code: "result-hash" });
    change = { blob: "r1/u/answers/gone.json" };
    expect(await failureOf(world.world.finish(world.ask()))).toMatchObject({ code: "answer-missing" });
  });
});

describe("the question for it", () => {
  const state = (change: Partial<State>): State => ({
    ...firstState({ run: "r1", uid: "u", generation: 3, cap: 1, nowMs: 0 }),
    phase: "computing",
    layout,
    turn: 4,
    ...change,
  });
  const nodesOf = ({ nodes }: Ask): number[] =>
    [...Array(10).keys()].filter((shard) => hasBit(decodeBitmap(nodes, 10), shard));

  it("names the existing nodes, and as open every other shard that was begun", () => {
    const sealed = {
      0: { gen: 3, node: true },
      1: { gen: 3, node: false },
      2: { gen: 3, node: true, members: "AA" },
    };
    const message = soFarMessage(
      state({ sealed, open: { 4: open, 3: { ...open, recount: true } } }),
      layout,
      "t",
    );
    expect(message).toMatchObject({ kind: "sofar", gen: 3, turn: 4, tag: "t", open: [1, 3, 4] });
    expect(nodesOf(message)).toEqual([0, 2]);
    expect("childGens" in message).toBe(false);
  });

  it("names the generation of each shard's node after a retry that kept older ones", () => {
    const sealed = { 0: { gen: 1, node: true }, 1: { gen: 2, node: true }, 2: { gen: 3, node: true } };
    const message = soFarMessage(state({ sealed }), layout, "t");
    expect(decodeGens(message.childGens ?? "", { from: 0, to: 10 })).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3, 3]);
  });

  it("stays within the size of a message for the largest run", () => {
    const huge = { ...layout, chunks: 10_000_000, shardSize: 1_000 };
    const shards = [...Array(10_000).keys()];
    const sealed = Object.fromEntries(
      shards.filter((shard) => shard % 2 === 0).map((shard) => [shard, { gen: 1 + (shard % 3), node: true }]),
    );
    const opened = Object.fromEntries(
      shards.filter((shard) => shard % 2 === 1).map((shard) => [shard, open]),
    );
    const message = soFarMessage(state({ sealed, open: opened, layout: huge }), huge, "t");
    expect(message.open).toHaveLength(clientLimits.soFarOpenMax);
    expect(encodeMessage(message).length).toBeLessThan(48 * 1024);
  });
});
