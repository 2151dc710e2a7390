import { describe, expect, test } from "vitest";
import type { MessageOf } from "../../src/engine/model/message.ts";
import { heartbeatBlobs, namesOf } from "../../src/engine/model/names.ts";
import { decodeHeartbeat, isLive } from "../../src/engine/model/workerHeartbeat.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { workerHeartbeats } from "../../src/engine/worker/heartbeats.ts";
import { heartbeatProcess } from "../support/heartbeatProcess.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const message = (pack: number, more: Partial<MessageOf<"compute">> = {}): MessageOf<"compute"> => ({
  ...{ v: 1, kind: "compute", run: "r", uid: "u", gen: 1, send: 1, turn: 0, shard: 0, pack },
  ...{ from: pack, to: pack + 1, ...more },
});

async function process() {
  const world = virtualWorld();
  const clock = world.clock();
  const storage = memoryStorage({ clock, random: world.random });
  const names = namesOf("w");
  await storage.blobs.ensureContainer(names.coordination);
  const heartbeats = workerHeartbeats(
    { storage, names, clock, random: world.random },
    heartbeatProcess("node-1"),
  );
  return {
    ...{ world, clock, heartbeats, storage, names },
    calls: () => Object.values(storage.meter.counts()).reduce((sum, count) => sum + count, 0),
    /** The packs that the heartbeat lists, those begun as they are and others as negative numbers less one; undefined without a heartbeat. */
    async told() {
      const { blobs, dateMs } = await storage.blobs.list(names.coordination, heartbeatBlobs, {
        metadata: true,
      });
      const [blob] = blobs;
      if (blob === undefined) return undefined;
      const heartbeat = decodeHeartbeat(blob.metadata, blob.name);
      const works = heartbeat.works.map(({ work, begun }) => {
        const pack = work.kind === "pack" ? work.pack : Number.NaN;
        return begun ? pack : -1 - pack;
      });
      return {
        works,
        live: isLive(heartbeat, blob.lastModifiedMs, dateMs),
        everyMs: heartbeat.everyMs,
        name: blob.name,
      };
    },
  };
}

describe("the heartbeat of a process", () => {
  test("packs of milliseconds cost no call", async () => {
    const { world, heartbeats, calls } = await process();
    const before = calls();
    for (let pack = 0; pack < 200; pack += 1) {
      const held = heartbeats.hold(message(pack));
      await held.begin();
      await world.advance(30);
      held.end();
    }
    await world.advance(20_000);
    expect([calls() - before, world.nowMs()]).toEqual([0, 26_000]);
  });

  test("work that lasts is listed after a second, with what waits beside it", async () => {
    const { world, heartbeats, told } = await process();
    await heartbeats.hold(message(3)).begin();
    heartbeats.hold(message(4));
    await world.advance(900);
    expect(await told()).toBeUndefined();
    await world.advance(200);
    expect(await told()).toMatchObject({ works: [3, -5], live: true, everyMs: 2_000 });
  });

  test("it tells the chunks of a pack, and which of them is computed at that moment", async () => {
    const { world, heartbeats, storage, names } = await process();
    let chunk = 30;
    await heartbeats.hold(message(3, { from: 30, to: 40 })).begin(() => chunk);
    chunk = 34;
    await world.advance(1_100);
    const { blobs } = await storage.blobs.list(names.coordination, heartbeatBlobs, { metadata: true });
    const told = blobs.map(({ metadata, name }) => decodeHeartbeat(metadata, name).works);
    expect(told).toMatchObject([[{ chunks: { from: 30, to: 40 }, chunk: 34 }]]);
  });

  test("it is written again while work lasts, more and more rarely, and is live all the time", async () => {
    const { world, heartbeats, told, calls } = await process();
    await heartbeats.hold(message(0)).begin();
    await world.advance(1_100);
    const before = calls();
    const lived: unknown[] = [];
    for (let second = 0; second < 120; second += 1) {
      await world.advance(1_000);
      lived.push((await told())?.live);
    }
    expect(new Set(lived)).toEqual(new Set([true]));
    const own = calls() - before - 120;
    expect(own).toBeGreaterThanOrEqual(12);
    expect(own).toBeLessThanOrEqual(25);
    expect((await told())?.everyMs).toBe(10_000);
  });

  test("it is removed within two seconds of the end of what lasted", async () => {
    const { world, heartbeats, told } = await process();
    const held = heartbeats.hold(message(0));
    await held.begin();
    await world.advance(30_000);
    held.end();
    await world.advance(2_000);
    expect(await told()).toBeUndefined();
  });

  test("work whose message was enqueued for later is listed as held until then", async () => {
    const { world, heartbeats, told } = await process();
    const held = heartbeats.hold(message(3));
    await held.begin();
    await world.advance(1_100);
    held.end(60_000);
    held.end();
    await world.advance(50_000);
    expect(await told()).toMatchObject({ works: [-4], live: true });
    await world.advance(15_000);
    expect(await told()).toBeUndefined();
  });

  test("work is listed later where that of its run usually takes long", async () => {
    const { world, heartbeats, told } = await process();
    for (let pack = 0; pack < 9; pack += 1) {
      const held = heartbeats.hold(message(pack));
      await held.begin();
      await world.advance(1_500);
      held.end();
    }
    await world.advance(5_000);
    await heartbeats.hold(message(9)).begin();
    await world.advance(2_900);
    expect(await told()).toBeUndefined();
    await world.advance(200);
    expect((await told())?.works).toEqual([9]);
  });

  test("a first send that an earlier leader may have sent too begins without a heartbeat", async () => {
    const { heartbeats, told } = await process();
    await heartbeats.hold(message(7, { repeat: true })).begin();
    expect(await told()).toBeUndefined();
  });

  test("a repeated send begins only once a heartbeat says so, and again after a write that failed", async () => {
    const { world, heartbeats, told, storage } = await process();
    const held = heartbeats.hold(message(7, { send: 2, repeat: true }));
    const create = storage.blobs.create;
    Object.assign(storage.blobs, { create: () => Promise.reject(new Error("away")) });
    await expect(held.begin()).rejects.toThrow("away");
    Object.assign(storage.blobs, { create });
    await held.begin();
    expect((await told())?.works).toEqual([7]);
    await world.advance(0);
  });

  test("a heartbeat that an operator deletes is made anew, and one of another process stays", async () => {
    const { world, heartbeats, told, storage, names } = await process();
    await storage.blobs.create(names.coordination, `${heartbeatBlobs}node-2.x`, "", { metadata: {} });
    await heartbeats.hold(message(0)).begin();
    await world.advance(1_100);
    const first = await told();
    await storage.blobs.remove(names.coordination, first?.name ?? "");
    await world.advance(3_000);
    expect(await told()).toMatchObject({ works: [0], name: first?.name });
    await heartbeats.stop();
    const { blobs } = await storage.blobs.list(names.coordination, heartbeatBlobs);
    expect(blobs.map(({ name }) => name)).toEqual([`${heartbeatBlobs}node-2.x`]);
  });
});
