import { expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { localWorker } from "../../src/engine/worker/localWorker.ts";
import { common, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const plan: WorkMessage = { ...common, kind: "plan", code: "code 1" };
const work = { urgent: true, calculation: "joining" };

/** A worker of one thread whose deliveries end when they are told to. */
async function oneThread(only?: ReadonlySet<string>) {
  const world = await workerWorld(inlineCode(joining), { only });
  Object.assign(world.ports, { instance: { mb: 2_048, threads: 1 } });
  const ends: (() => void)[] = [];
  const local = localWorker(world.ports, {
    recordPoison: async () => {},
    work: async () => {
      world.ports.deliveries.now += 1;
      await new Promise<void>((resolve) => void ends.push(resolve));
      world.ports.deliveries.now -= 1;
    },
  });
  return { ...world, ends, local };
}

test("work of other code, or of a calculation that is left to others, is not taken", async () => {
  const { local } = await oneThread();
  expect(local.take({ ...plan, code: "code 2" }, work)).toBeUndefined();
  expect(local.take(plan, work)).toBeDefined();
  const leaves = await oneThread(new Set(["another"]));
  expect(leaves.local.take(plan, work)).toBeUndefined();
});

test("where the threads are busy only what can begin soon is taken", async () => {
  const { local } = await oneThread();
  expect(local.take(plan, work)).toBeDefined();
  expect(local.take(plan, work)).toBeUndefined();
  expect(local.take(plan, { ...work, expectedMs: limits.beginsHereMs + 1 })).toBeUndefined();
  expect(local.take(plan, { ...work, expectedMs: limits.beginsHereMs })).toBeDefined();
  expect(local.take(plan, { ...work, expectedMs: limits.beginsHereMs / 2 })).toBeDefined();
  expect(local.take(plan, { ...work, expectedMs: limits.beginsHereMs / 2 })).toBeUndefined();
});

test("what waits begins in its turn, and what has not begun in time goes to the queue", async () => {
  const { world, local, ends, messages } = await oneThread();
  const short = { ...work, expectedMs: 1 };
  const taken = [1, 2, 3].map((send) => local.take({ ...plan, send }, short));
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await world.advance(1);
  expect(ends).toHaveLength(2);
  await world.advance(limits.beginsHereMs);
  await world.finish(taken[2] ?? Promise.reject(new Error("not taken")));
  expect((await messages("urgent")).map(({ send }) => send)).toEqual([3]);
});

test("an instance that stops begins nothing more: what waits goes to the queue at its turn", async () => {
  const { world, local, ends, messages } = await oneThread();
  const stop = new AbortController();
  const short = { ...work, expectedMs: 1, stopping: stop.signal };
  for (const send of [1, 2]) local.take({ ...plan, send }, short);
  stop.abort();
  ends[0]?.();
  await world.advance(1);
  expect([ends.length, (await messages("urgent")).map(({ send }) => send)]).toEqual([1, [2]]);
  expect(local.take({ ...plan, send: 3 }, short)).toBeUndefined();
});
