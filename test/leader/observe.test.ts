import { expect, test } from "vitest";
import { observer } from "../../src/engine/leader/poll/observe.ts";
import { turnKey, workKey } from "../../src/engine/leader/seen.ts";
import type { Term } from "../../src/engine/leader/term.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { encodeMessage, type MessageOf, type WorkMessage } from "../../src/engine/model/message.ts";
import { heartbeatBlob, heartbeatBlobs } from "../../src/engine/model/names.ts";
import type { Work } from "../../src/engine/model/runBlobs.ts";
import {
  encodeHeartbeat,
  type HeartbeatWork,
  type WorkerHeartbeat,
} from "../../src/engine/model/workerHeartbeat.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** Storage's time when each test begins. */
const startMs = Date.UTC(2030, 0, 1);
const of = { uid: "u", generation: 1 };
const turn = (number = 0, cursorSend = 1) => turnKey({ ...of, turn: number, cursorSend });
const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;
const compute = (pack: number, more: Partial<MessageOf<"compute">> = {}): WorkMessage => ({
  ...{ ...common, kind: "compute", shard: 0, pack, from: pack, to: pack + 1 },
  ...more,
});
const pack = (index: number): Work => ({ kind: "pack", shard: 0, pack: index });
const packKey = (index: number) => workKey(of, `00000/0000000${index}`);

async function inMemory() {
  const account = leadInMemory();
  await account.ready;
  const { storage, names, world } = account;
  const observe = observer({ ...account.ports, leader: account.leader } as Term);
  const read = () => observe(limits.observeEveryMs);
  return {
    ...{ ...account, read },
    /** Reads after the time within which nothing is read again. */
    async later() {
      await world.advance(limits.observeEveryMs);
      const observed = await read();
      if (observed === undefined) throw new Error("nothing was read");
      return observed;
    },
    enqueue: (message: WorkMessage, queue: "packs" | "urgent" = "packs") =>
      storage.queues.send(names[queue], encodeMessage(message)),
    heartbeat(
      instance: string,
      works: readonly Partial<HeartbeatWork>[],
      more: Partial<WorkerHeartbeat> = {},
    ) {
      const work = { run: "r", uid: "u", work: pack(0), generation: 1, send: 1, ageMs: 0, begun: true };
      const all = works.map((one) => ({ ...work, isolated: false, ...one }));
      const heartbeat = {
        threads: 2,
        everyMs: 2_000,
        version: "1",
        codes: [],
        memoryMb: 1,
        works: all,
        ...more,
      };
      const ended: Record<string, string> = more.ended === undefined ? {} : { ended: more.ended };
      const metadata = { ...encodeHeartbeat(heartbeat), ...ended };
      return storage.blobs.create(names.coordination, heartbeatBlob(instance, "boot"), "", { metadata });
    },
    heartbeatsLeft: () =>
      storage.operator.blobNames(names.coordination).filter((name) => name.startsWith(heartbeatBlobs)),
  };
}

test("heartbeats and both queues are read at most once a second, with one list and two peeks", async () => {
  const { world, storage, read } = await inMemory();
  const before = { ...storage.meter.counts() };
  expect(await read()).toBeDefined();
  const once = { ...storage.meter.counts() };
  expect([once.list - before.list, once.queue - before.queue]).toEqual([1, 2]);
  await world.advance(limits.observeEveryMs - 1);
  expect(await read()).toBeUndefined();
  expect(storage.meter.counts()).toEqual(once);
  await world.advance(1);
  expect(await read()).toBeDefined();
});

test("work is known with what each process says of it, whether that lives, and since when it is silent", async () => {
  const { world, later, heartbeat } = await inMemory();
  await heartbeat("node-1", [
    { send: 1, ageMs: 500 },
    { work: pack(1), begun: false },
    { work: { kind: "plan" } },
  ]);
  await world.advance(6_000);
  await heartbeat("node.2", [{ send: 2, isolated: true }]);
  const { nowMs, heartbeats, computing } = await later();
  expect(nowMs).toBe(startMs + 7_000);
  const first = { instance: "node-1", live: false, silentMs: 7_000, ended: undefined };
  expect(heartbeats.get(packKey(0))).toMatchObject([
    { ...first, send: 1, ageMs: 500, begun: true, isolated: false },
    { instance: "node.2", live: true, silentMs: 1_000, send: 2, isolated: true },
  ]);
  expect(heartbeats.get(packKey(1))).toMatchObject([{ ...first, begun: false }]);
  expect(heartbeats.get(workKey(of, "plan"))).toMatchObject([first]);
  expect([heartbeats.size, [...computing]]).toEqual([3, [["u", 1]]]);
});

test("a process is dead from the moment at which its supervisor saw it end, and nobody computes its run", async () => {
  const { later, heartbeat } = await inMemory();
  await heartbeat("node-1", [{}], { ended: "SIGKILL" });
  const { heartbeats, computing } = await later();
  expect(heartbeats.get(packKey(0))).toMatchObject([{ live: false, ended: "SIGKILL" }]);
  expect(computing.size).toBe(0);
});

test("a heartbeat older than 15 min is told of once more and deleted; younger ones and other blobs stay", async () => {
  const { world, later, heartbeat, heartbeatsLeft, storage, names } = await inMemory();
  await heartbeat("old", [{}]);
  await storage.blobs.create(names.coordination, "leader", "");
  await world.advance(1_000);
  await heartbeat("young", [{}]);
  await world.advance(limits.heartbeatKeptMs - 2_000);
  await later();
  expect(heartbeatsLeft()).toHaveLength(2);
  expect((await later()).heartbeats.get(packKey(0))).toHaveLength(2);
  expect(heartbeatsLeft()).toEqual([heartbeatBlob("young", "boot")]);
  expect((await later()).heartbeats.get(packKey(0))).toHaveLength(1);
  expect(storage.operator.blobNames(names.coordination)).toContain("leader");
});

test("a heartbeat or a message that does not decode tells nothing, and those beside it count", async () => {
  const { later, heartbeat, enqueue, storage, names, log } = await inMemory();
  for (const [at, metadata] of [
    {},
    { threads: "x" },
    { threads: "1", every: "1", memory: "1", work: "[1]" },
  ].entries())
    await storage.blobs.create(names.coordination, heartbeatBlob(`bad-${at}`, "b"), "", { metadata });
  await heartbeat("node-1", [{}]);
  for (const text of ["", "junk", '{"v":1}', JSON.stringify({ ...compute(3), v: 99 })])
    await storage.queues.send(names.packs, text);
  await enqueue(compute(4));
  await later();
  const { heartbeats, packs } = await later();
  expect([...heartbeats.keys()]).toEqual([packKey(0)]);
  expect(log.map(({ event }) => event)).toEqual(Array(3).fill("unreadable-heartbeat"));
  expect(packs).toMatchObject({
    full: false,
    waiting: new Set([packKey(4)]),
    firstPack: new Map([[turn(), 4]]),
  });
});

test("a heartbeat of a newer version tells nothing either, so that a rollback leads", async () => {
  const { storage, names, later, heartbeat } = await inMemory();
  await heartbeat("node-1", [{ work: pack(1) }]);
  await storage.blobs.create(names.coordination, heartbeatBlob("node-2", "boot"), "", {
    metadata: { v: "9" },
  });
  expect([...(await later()).heartbeats.keys()]).toEqual([packKey(1)]);
});

test("the first messages tell which work waits, and the first pack of each send of a turn", async () => {
  const { later, enqueue } = await inMemory();
  await enqueue(compute(5));
  await enqueue(compute(2));
  await enqueue(compute(7, { turn: 1, send: 2 }));
  await enqueue({ ...common, kind: "finish" }, "urgent");
  await enqueue({ ...common, kind: "cleanup" }, "urgent");
  await enqueue(compute(1, { send: 2, repeat: true }), "urgent");
  const { packs, urgent } = await later();
  expect(packs).toEqual({
    ...{ full: false, oldestMs: startMs },
    waiting: new Set([5, 2, 7].map(packKey)),
    firstPack: new Map([
      [turn(), 2],
      [turn(1, 2), 7],
    ]),
  });
  expect(urgent.waiting).toEqual(new Set([workKey(of, "finish"), packKey(1)]));
});

test("a message that was received before waits too, but tells nothing of those behind it", async () => {
  const { world, later, enqueue, storage, names } = await inMemory();
  await enqueue(compute(0));
  await storage.queues.receive(names.packs, { max: 1, visibilityS: 1 });
  await world.advance(1_500);
  const onlyReceived = (await later()).packs;
  expect(onlyReceived).toMatchObject({ firstPack: new Map(), oldestMs: undefined });
  expect(onlyReceived.waiting).toEqual(new Set([packKey(0)]));
  const { dateMs: sentMs } = await enqueue(compute(6));
  const both = (await later()).packs;
  expect(both).toMatchObject({ firstPack: new Map([[turn(), 6]]), oldestMs: sentMs });
  expect(both.waiting).toEqual(new Set([0, 6].map(packKey)));
});

test("a queue that shows as many messages as a peek gives may hold more", async () => {
  const { later, enqueue } = await inMemory();
  for (let index = 0; index < limits.peekMax - 1; index += 1) await enqueue(compute(index));
  expect((await later()).packs.full).toBe(false);
  await enqueue(compute(99));
  expect((await later()).packs.full).toBe(true);
});

test("an old heartbeat that storage does not delete ends no term", async () => {
  const account = await inMemory();
  await account.heartbeat("node-1", [{}]);
  await account.world.advance(limits.heartbeatKeptMs + 1_000);
  Object.assign(account.storage.blobs, {
    removeMany: () => Promise.reject(new StorageError("refused", "LeaseIdMissing", 412, "leased")),
  });
  expect((await account.later()).heartbeats.size).toBe(1);
  expect(account.heartbeatsLeft()).toHaveLength(1);
});

test("nothing is observed where storage is busy, and the next reading is due a second later", async () => {
  const { world, read, storage } = await inMemory();
  const { peek } = storage.queues;
  const failing = (error: Error) => Object.assign(storage.queues, { peek: () => Promise.reject(error) });
  failing(new StorageError("busy", "ServerBusy", 503, "busy"));
  expect(await read()).toBeUndefined();
  Object.assign(storage.queues, { peek });
  expect(await read()).toBeUndefined();
  await world.advance(limits.observeEveryMs);
  expect(await read()).toBeDefined();
  await world.advance(limits.observeEveryMs);
  failing(new StorageError("denied", "AuthorizationFailure", 403, "denied"));
  await expect(read()).rejects.toThrow("denied");
});

test("a leader that has lost its lease reads nothing", async () => {
  const { read, leader, storage } = await inMemory();
  Object.assign(leader, {
    assertLeading() {
      throw new Error("deposed");
    },
  });
  const before = { ...storage.meter.counts() };
  await expect(read()).rejects.toThrow("deposed");
  expect(storage.meter.counts()).toEqual(before);
});
