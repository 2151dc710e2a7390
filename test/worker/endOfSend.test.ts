import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import type { Marker } from "../../src/engine/model/marker.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { common, computeOf, inlineCode, joining, type WorkerWorld, workerWorld } from "./workerWorld.ts";

/** A message of the last attempt that a send has by default. */
const last = (message: WorkMessage): WorkMessage => ({ ...message, tries: 4 });

/** Three packs of one chunk; `meanwhile` happens while a chunk computes. */
async function planned(compute: AnyCalculation["compute"] = joining.compute, meanwhile = async () => {}) {
  const calculation = {
    ...joining,
    async compute(chunk: Parameters<typeof compute>[0]): Promise<unknown> {
      await meanwhile();
      return compute(chunk);
    },
  };
  const world = await workerWorld(inlineCode(calculation));
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  return { world, message: computeOf(await world.plan(), 1) };
}

const written = (world: WorkerWorld, what: string): string[] =>
  world.list("runs").filter((name) => name.startsWith(what));
const throws = () => {
  throw new Error("no luck");
};

describe("a send that ends without output", () => {
  test("is recorded while its run is active: by its last attempt, or as poison", async () => {
    const { world, message } = await planned(throws);
    await world.work(last(message));
    await world.poison({ ...message, send: 2 });
    expect(written(world, "failed/")).toEqual([
      "failed/00000/00000001.001.001",
      "failed/00000/00000001.001.002",
    ]);
  });

  test.each<[string, (world: WorkerWorld) => Promise<void>]>([
    ["has ended", (world) => world.unmark()],
    ["is another one's by now", (world) => world.mark({ uid: "x" })],
    ["is being deleted", (world) => world.mark({ want: "delete" })],
  ])("leaves no record behind when the run %s", async (_what, change) => {
    const { world, message } = await planned();
    await change(world);
    await world.poison(message);
    await world.poison({ ...common, kind: "finish" });
    await world.poison({ ...common, kind: "cleanup", shard: 0 });
    expect(written(world, "failed/")).toEqual([]);
  });

  test("leaves no record when the run ended while it computed, however recent the last read of the marker is", async () => {
    let end = async (): Promise<void> => {};
    const { world, message } = await planned(throws, () => end());
    end = () => world.unmark();
    await world.work(last(message));
    expect(written(world, "failed/")).toEqual([]);
    expect(written(world, "parts/")).toEqual([]);
  });

  test("is recorded when the marker cannot be read: a needless record does no harm", async () => {
    const { world, message } = await planned();
    world.storage.operator.deleteContainer(world.names.active);
    await world.poison(message);
    expect(written(world, "failed/")).toEqual(["failed/00000/00000001.001.001"]);
  });
});

describe("a begun pack", () => {
  test.each<[string, Partial<Marker> | undefined, boolean]>([
    ["the run is paused", { want: "paused", turn: 1 }, true],
    ["it is paused and resumed", { turn: 2 }, true],
    ["it is cancelled", { want: "cancelled" }, true],
    ["a retry begins", { generation: 2 }, true],
    ["it is deleted", { want: "delete" }, false],
    ["the id begins anew", { uid: "x" }, false],
    ["the run ends", undefined, false],
  ])("and %s meanwhile: whether its partial is written is %s", async (_what, change, kept) => {
    let meanwhile = async (): Promise<void> => {};
    const { world, message } = await planned(joining.compute, () => meanwhile());
    meanwhile = async () => {
      await (change === undefined ? world.unmark() : world.mark(change));
      // By now the worker no longer trusts what it read before.
      await world.world.advance(6_000);
    };
    await world.work(message);
    expect(written(world, "parts/")).toHaveLength(kept ? 1 : 0);
    // Another one is not begun at all.
    const again: WorkMessage = { ...message, send: 2 };
    meanwhile = () => Promise.reject(new Error("it was begun"));
    await world.work(last(again));
    expect(written(world, "failed/")).toEqual([]);
  });
});
