import { describe, expect, test } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { markerWatch } from "../../src/engine/worker/markerWatch.ts";
import { DroppedError } from "../../src/engine/worker/ports.ts";
import { marker } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

const compute = (run: string): WorkMessage => ({
  ...common,
  ...{ run, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 },
});
const finish = (run: string): WorkMessage => ({ ...common, run, kind: "finish" });

async function watched(...runs: string[]) {
  const world = virtualWorld();
  const clock = world.clock();
  const storage = memoryStorage({ clock, random: world.random });
  const names = namesOf("t");
  const { active } = names;
  await storage.blobs.ensureContainer(active);
  for (const run of runs) await storage.blobs.create(active, run, "", { metadata: encodeMarker(marker) });
  const watch = markerWatch(storage.blobs, names, clock);
  const ends: { run: string; atMs: number; why: unknown }[] = [];
  /** Work that goes on until its signal fires, or for so long. */
  const begin = (message: WorkMessage, forMs = 600_000): Promise<void> =>
    watch.during(message, async (signal) => {
      await clock.sleep(forMs, signal);
      if (signal.aborted) ends.push({ run: message.run, atMs: world.nowMs(), why: signal.reason });
    });
  const mark = async (run: string, change: Partial<Marker>) => {
    const found = await storage.blobs.head(active, run);
    const ifMatch = found.kind === "found" ? found.properties.etag : "";
    await storage.blobs.setMetadata(active, run, encodeMarker({ ...marker, ...change }), { ifMatch });
  };
  /** Calls that the watch makes in this time. */
  const callsIn = async (ms: number) => {
    const before = { ...storage.meter.counts() };
    await world.advance(ms);
    const after = storage.meter.counts();
    return { heads: after.other - before.other, lists: after.list - before.list };
  };
  return { world, clock, storage, active, watch, begin, mark, ends, callsIn };
}
type Watched = Awaited<ReturnType<typeof watched>>;

describe("work that takes long", () => {
  test.each<[string, (made: Watched) => Promise<unknown>, RegExp]>([
    ["cancelled", ({ mark }) => mark("r", { want: "cancelled", command: 1 }), /cancelled/],
    ["deleted", ({ mark }) => mark("r", { want: "delete", command: 1 }), /deleted/],
    ["over", ({ storage, active }) => storage.blobs.remove(active, "r"), /ended/],
    ["another one's", ({ mark }) => mark("r", { uid: "x" }), /another run/],
  ])("ends within five seconds after its run is %s", async (_what, change, why) => {
    for (const afterMs of [0, 100, 4_400, 4_600, 20_000, 60_100]) {
      const made = await watched("r");
      void made.begin(compute("r"));
      await made.world.advance(afterMs);
      await change(made);
      await made.world.advance(10_000);
      expect(made.ends).toHaveLength(1);
      expect(made.ends[0]?.why).toBeInstanceOf(DroppedError);
      expect(String(made.ends[0]?.why)).toMatch(why);
      expect((made.ends[0]?.atMs ?? 0) - afterMs).toBeLessThanOrEqual(5_000);
    }
  });

  test.each<[string, Partial<Marker>]>([
    ["is paused", { want: "paused", turn: 1, command: 1 }],
    ["goes on", { cap: 3, command: 1 }],
    ["begins another generation", { generation: 2, command: 1 }],
  ])("goes on where it is a pack whose run %s", async (_what, change) => {
    const { begin, mark, world, ends } = await watched("r");
    void begin(compute("r"));
    await mark("r", change);
    await world.advance(60_000);
    expect(ends).toEqual([]);
  });

  test("goes on if it makes the result of a run that a cancel keeps", async () => {
    const { begin, mark, world, ends } = await watched("r");
    void begin(finish("r"));
    await mark("r", { want: "cancelled", keep: "1", command: 1 });
    await world.advance(60_000);
    expect(ends).toEqual([]);
  });

  test("goes on while the marker cannot be read, and ends once it can", async () => {
    const { begin, storage, active, world, ends } = await watched("r");
    void begin(compute("r"));
    storage.operator.deleteContainer(active);
    await world.advance(60_000);
    expect(ends).toEqual([]);
    await storage.blobs.ensureContainer(active);
    await world.advance(5_000);
    expect(ends).toHaveLength(1);
  });
});

describe("the cost of the watch", () => {
  test("is one call for all tasks of one run, each four and a half seconds", async () => {
    const { begin, callsIn } = await watched("r");
    for (let task = 0; task < 8; task += 1) void begin(compute("r"));
    expect(await callsIn(45_100)).toEqual({ heads: 10, lists: 0 });
  });

  test("is one list for the tasks of several runs", async () => {
    const { begin, callsIn, mark, ends } = await watched("a", "b", "c");
    for (const run of ["a", "b", "c", "a"]) void begin(compute(run));
    expect(await callsIn(45_100)).toEqual({ heads: 0, lists: 10 });
    await mark("a", { want: "cancelled", command: 1 });
    await callsIn(5_000);
    expect(ends.map(({ run }) => run)).toEqual(["a", "a"]);
  });

  test("is nothing for shorter work, however much of it there is", async () => {
    const { begin, watch, callsIn, clock, world } = await watched("r");
    await watch.unwanted(compute("r"), "begin");
    let done = 0;
    const worker = async () => {
      for (; world.nowMs() < 60_000; done += 1) await begin(compute("r"), 3_000);
    };
    void worker();
    void clock.sleep(700).then(worker);
    expect(await callsIn(70_000)).toEqual({ heads: 0, lists: 0 });
    expect(done).toBeGreaterThan(30);
  });

  test("is nothing for questions of clients, and nothing once all work has ended", async () => {
    const { begin, callsIn } = await watched("r");
    void begin({ ...common, kind: "verify", tag: "t", pack: 0 });
    void begin({ ...common, kind: "sofar", tag: "t", nodes: "", open: [] }, 60_000);
    void begin(compute("r"), limits.wantedEveryMs + 100);
    expect((await callsIn(60_000)).heads).toBe(1);
  });
});

describe("edge cases of the watch", () => {
  test("work that began between two polls ends within five seconds of a cancel too", async () => {
    const { begin, mark, world, ends } = await watched("r");
    void begin(compute("r"));
    await world.advance(100);
    void begin(compute("r"));
    await mark("r", { want: "cancelled", command: 1 });
    await world.advance(5_000);
    expect(ends).toHaveLength(2);
  });

  test("a marker that does not decode keeps no other run's work going", async () => {
    const { begin, mark, world, ends, storage, active } = await watched("a", "b");
    const found = await storage.blobs.head(active, "b");
    const ifMatch = found.kind === "found" ? found.properties.etag : "";
    await storage.blobs.setMetadata(active, "b", { v: "99" }, { ifMatch });
    for (const run of ["a", "b"]) void begin(compute(run));
    await mark("a", { want: "cancelled", command: 1 });
    await world.advance(20_000);
    expect(ends.map(({ run }) => run)).toEqual(["a"]);
  });

  test("work that begins when the watch stops is watched as well", async () => {
    for (let microtasks = 0; microtasks < 12; microtasks += 1) {
      const { mark, world, storage, clock } = await watched("r");
      let wakes = 0;
      let onWake = (): void => {};
      const sleep: typeof clock.sleep = async (ms, signal) => {
        await clock.sleep(ms, signal);
        wakes += 1;
        onWake();
      };
      const watch = markerWatch(storage.blobs, namesOf("t"), { ...clock, sleep });
      void watch.during(compute("r"), () => clock.sleep(1));
      let ended = false;
      const begin = async () => {
        for (let one = 0; one < microtasks; one += 1) await undefined;
        await watch.during(compute("r"), (signal) => clock.sleep(600_000, signal));
        ended = true;
      };
      onWake = () => {
        onWake = () => {};
        void begin();
      };
      await world.advance(limits.wantedEveryMs + 1);
      expect(wakes).toBeGreaterThan(0);
      await mark("r", { want: "cancelled", command: 1 });
      await world.advance(20_000);
      expect(ended).toBe(true);
    }
  });
});

test("a cancel ends a running pack within five seconds: nothing is written and its message is completed", async () => {
  const world = await workerWorld(inlineCode(joining));
  await world.submit({ calculation: "joining", params: { chunks: 3 }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  const message = computeOf(await world.plan(), 1);
  Object.assign(world.ports.userCode, {
    compute: (_job: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  });
  let endedMs: number | undefined;
  void world.work(message).then(() => {
    endedMs = world.world.nowMs();
  });
  await world.world.advance(20_000);
  expect(endedMs).toBeUndefined();
  await world.mark({ want: "cancelled", command: 1 });
  await world.world.advance(5_000);
  expect(endedMs).toBeLessThanOrEqual(25_000);
  expect(world.list("runs").filter((name) => /^(failed|parts)/.test(name))).toEqual([]);
  expect(await world.messages("urgent")).toEqual([]);
  expect(world.log.at(-1)).toMatchObject({ event: "work-dropped", fields: { why: "the run is cancelled" } });
});
