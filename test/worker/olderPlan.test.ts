import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/engine/model/decode.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { decodeVerified } from "../../src/engine/model/output.ts";
import { answerSchema } from "../../src/engine/model/run.ts";
import { at, common, computeOf, inlineCode, joining, results, workerWorld } from "./workerWorld.ts";

/** A run of two packs that an instance of the version before has planned. */
async function plannedBefore() {
  const world = await workerWorld(inlineCode(joining));
  await world.submit({ calculation: "joining", params: { chunks: 6 }, packSize: 3 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  const { fold: _fold, ...before } = plan;
  await world.storage.blobs.remove(world.names.runs, at.plan);
  await world.storage.blobs.create(world.names.runs, at.plan, JSON.stringify({ ...before, v: 1 }));
  return { world, plan };
}

const answers = { ...common, tag: "t" } as const;

describe("a run that was planned by the version before", () => {
  test.each<[string, (plan: Awaited<ReturnType<typeof plannedBefore>>["plan"]) => WorkMessage]>([
    ["a pack", (plan) => computeOf(plan, 0)],
    ["a node", () => ({ ...common, kind: "combine", level: 1, index: 0 })],
    ["the finish", () => ({ ...common, kind: "finish" })],
  ])(
    "is left to instances of that version: %s is enqueued as it is, and nothing is written",
    async (_, of) => {
      const { world, plan } = await plannedBefore();
      const before = world.list("runs");
      await world.work(of(plan));
      expect(world.list("runs")).toEqual(before);
      expect(world.list("results")).toEqual([]);
      await world.world.advance(31_000);
      expect(await world.messages("urgent")).toEqual([of(plan)]);
      expect(world.log).toContainEqual(
        expect.objectContaining({
          event: "work-failed",
          fields: expect.objectContaining({ code: "older-plan", last: false }),
        }),
      );
    },
  );

  test("answers no question: the client is told why at once", async () => {
    const { world } = await plannedBefore();
    const why = expect.objectContaining({
      code: "older-plan",
      message: expect.stringMatching(
        /^run r was planned by an earlier version, .*: retry it with --recompute$/,
      ),
    });
    await world.work({ ...answers, kind: "sofar", nodes: "", open: [0] });
    const answer = await world.bytesOf(world.names.results, results.answer("t"));
    expect(decodeJson(answerSchema, answer, "answer")).toEqual(why);
    await world.work({ ...answers, kind: "verify", pack: 1 });
    const page = await world.storage.blobs.list(world.names.results, results.verifiedOf("t"), {
      metadata: true,
    });
    expect(page.blobs.map(({ name, metadata }) => decodeVerified(metadata, name))).toEqual([{ error: why }]);
    expect(await world.messages("urgent")).toEqual([]);
  });
});
