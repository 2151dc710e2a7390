import { expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

type Compute = AnyCalculation["compute"];

/** Seven chunks in packs of two, and one message that asks for packs 1 to 3, of which the last is short. */
async function planned(compute: Compute = joining.compute) {
  const begun: number[] = [];
  const code = inlineCode({
    ...joining,
    compute(chunk: Parameters<Compute>[0], ...rest) {
      begun.push(chunk.index);
      return compute(chunk, ...rest);
    },
  });
  const world = await workerWorld(code);
  await world.submit({ calculation: "joining", params: { chunks: 7 }, packSize: 2 });
  await world.work({ ...common, kind: "plan" });
  begun.length = 0;
  const plan = await world.plan();
  const named = await world.named();
  const ones = [1, 2, 3].map((pack) => ({ ...computeOf(plan, pack), ...named }));
  const message = { ...ones[0], until: 7 } as WorkMessage;
  const left = () => world.list("runs").filter((name) => /^(failed|parts)/.test(name));
  return { world, begun, ones, message, left };
}
const parts = (...packs: number[]) => packs.map((pack) => `parts/00000/0000000${pack}`);
const record = (pack: number) => `failed/00000/0000000${pack}.001.001`;
const packsQueue = { urgent: false, queue: "w-packs" };

test("each pack of a message is computed once, in order, into a partial of its own", async () => {
  const { world, begun, message, left } = await planned();
  await world.work(message, packsQueue);
  expect(begun).toEqual([2, 3, 4, 5, 6]);
  expect(left()).toEqual(parts(1, 2, 3));
  // The plan, and three packs.
  expect(world.log.filter(({ event }) => event === "work-done")).toHaveLength(4);
});

test("of a message that is delivered again nothing is begun: what has no partial ends with a record", async () => {
  const { world, begun, ones, message, left } = await planned();
  await world.work(ones[0] as WorkMessage);
  begun.length = 0;
  await world.work(message, { ...packsQueue, attempt: 2 });
  expect(begun).toEqual([]);
  expect(left()).toEqual([record(2), record(3), ...parts(1)]);
});

test("a pack that throws is tried again alone, and the others are computed", async () => {
  const { world, ones, message, left } = await planned((chunk, ...rest) => {
    if (chunk.index === 4) throw new Error("no luck");
    return joining.compute(chunk, ...rest);
  });
  await world.work(message, packsQueue);
  expect(left()).toEqual([`${record(2)}.tried`, ...parts(1, 3)]);
  expect(await world.messages("urgent")).toEqual([{ ...ones[1], tries: 1 }]);
});

test("packs that are not begun within a second are enqueued one by one, urgent and visible at once", async () => {
  const { world, begun, ones, message, left } = await planned(async (chunk, ...rest) => {
    await world.ports.clock.sleep(limits.messageMsMax);
    return joining.compute(chunk, ...rest);
  });
  await world.world.finish(world.work(message, packsQueue));
  expect(begun).toEqual([2, 3]);
  expect(left()).toEqual(parts(1));
  expect(await world.messages("urgent")).toEqual(ones.slice(1));
});

test("a message that the host set aside leaves a record for each pack", async () => {
  const { world, message, left } = await planned();
  await world.poison(message);
  expect(left()).toEqual([record(1), record(2), record(3)]);
});

test("a message that asks for more than its shard has is recorded as dropped, and what it rightly asks for is computed", async () => {
  const { world, message, left } = await planned();
  await world.work({ ...message, until: 11 } as WorkMessage, packsQueue);
  expect(left()).toEqual(parts(1, 2));
  expect(
    world.storage.operator.blobNames(world.names.runs).some((name) => name.startsWith("_dropped/")),
  ).toBe(true);
});
