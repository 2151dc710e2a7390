import { expect, test } from "vitest";
import { keepDeadMansWake } from "../../src/engine/leader/deadMansWake.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { QueueStore } from "../../src/engine/storage/queuePort.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const queue = "test-wake";

async function keeper(change: (queues: QueueStore) => QueueStore = (queues) => queues) {
  const world = virtualWorld();
  const { queues } = memoryStorage({ clock: world.clock(), random: world.random });
  await queues.ensureQueue(queue);
  const clock = world.clock();
  const ended = new AbortController();
  const options = { queue, text: "wake up", signal: ended.signal };
  const wake = keepDeadMansWake({ queues: change(queues), clock }, options);
  const surfaced = () => queues.receive(queue, { max: 32, visibilityS: 600 });
  const count = async () => {
    const stats = await queues.stats(queue);
    return stats.kind === "found" ? stats.approximateCount : -1;
  };
  return { world, queues, clock, ended, wake, surfaced, count };
}

test("it stays hidden for as long as its keeper lives", async () => {
  const { world, surfaced, count } = await keeper();
  for (let second = 0; second < 60; second += 1) {
    await world.advance(1_000);
    expect(await surfaced()).toEqual([]);
  }
  expect(await count()).toBe(1);
});

test("it surfaces within six seconds of its keeper's death", async () => {
  const { world, clock, surfaced } = await keeper();
  await world.advance(11_000);
  clock.crash();
  await world.advance(6_000);
  expect(await surfaced()).toMatchObject([{ text: "wake up" }]);
});

test("it surfaces too when the keeper's term has ended, though the keeper lives", async () => {
  const { world, ended, surfaced } = await keeper();
  await world.advance(11_000);
  ended.abort();
  await world.advance(6_000);
  expect(await surfaced()).toHaveLength(1);
});

test("on hand-over it is visible at once, and once", async () => {
  const { world, wake, surfaced, count } = await keeper();
  await world.advance(11_000);
  await world.finish(wake.handOver());
  expect(await surfaced()).toHaveLength(1);
  expect(await count()).toBe(1);
});

test("with nothing left to lead it is deleted", async () => {
  const { world, wake, count } = await keeper();
  await world.advance(11_000);
  await world.finish(wake.remove());
  await world.advance(10_000);
  expect(await count()).toBe(0);
});

test("taken by someone else, or deleted, it is replaced by a new one", async () => {
  const { world, clock, surfaced, queues } = await keeper();
  await world.advance(1_000);
  clock.pause();
  await world.advance(7_000);
  const [taken] = await surfaced();
  expect(taken).toBeDefined();
  await queues.remove(queue, taken?.id ?? "", taken?.popReceipt ?? "");
  clock.resume();
  await world.advance(10_000);
  expect(await surfaced()).toEqual([]);
  clock.crash();
  await world.advance(6_000);
  expect(await surfaced()).toHaveLength(1);
});

test.each(["before", "after"] as const)(
  "calls that fail %s their effect end in a hidden message",
  async (when) => {
    let failing = true;
    const fail = () => {
      if (failing) throw new StorageError("busy", "", undefined, "reset");
    };
    const { world, surfaced, wake, count } = await keeper((queues) => ({
      ...queues,
      async send(...all) {
        if (when === "before") fail();
        const sent = await queues.send(...all);
        if (when === "after") fail();
        return sent;
      },
      async update(...all) {
        if (when === "before") fail();
        const updated = await queues.update(...all);
        if (when === "after") fail();
        return updated;
      },
    }));
    await world.advance(500);
    failing = false;
    await world.advance(2_000);
    failing = true;
    await world.advance(3_000);
    failing = false;
    await world.advance(20_000);
    await surfaced(); // What lost replies have left behind.
    await world.advance(20_000);
    expect(await surfaced()).toEqual([]);
    const before = await count();
    await world.finish(wake.handOver());
    expect(await surfaced()).toHaveLength(1);
    expect(await count()).toBe(before);
  },
);

test("a queue that hangs holds up neither hand-over nor removal", async () => {
  const { world, wake } = await keeper((queues) => ({ ...queues, send: () => new Promise(() => {}) }));
  await world.advance(3_000);
  await world.finish(wake.handOver(), 10_000);
  await world.finish(wake.remove(), 10_000);
});
