import { describe, expect, test } from "vitest";
import { encodeMarker } from "../../src/model/marker.ts";
import type { WorkMessage } from "../../src/model/message.ts";
import { namesOf } from "../../src/model/names.ts";
import { memoryStorage } from "../../src/storage/memory/memoryStorage.ts";
import { markerWatch, verdict } from "../../src/worker/markerWatch.ts";
import { marker } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;
const compute: WorkMessage = { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 };
const finish: WorkMessage = { ...common, kind: "finish" };

describe("whether work is still wanted", () => {
  test.each([
    ["goes on while the run is active", compute, marker, undefined],
    ["is dropped when the marker is gone", finish, undefined, /ended/],
    ["is dropped when the id is another run's now", finish, { ...marker, uid: "x" }, /another run/],
    ["is dropped under a later generation", finish, { ...marker, generation: 2 }, /generation/],
    ["of a pack is dropped while paused", compute, { ...marker, want: "paused" as const }, /paused/],
    ["of a pack is dropped after a pause and resume", compute, { ...marker, turn: 2 }, /resumed/],
    ["of a finish goes on while paused", finish, { ...marker, want: "paused" as const, turn: 1 }, undefined],
  ])("%s", (_what, message, found, why) => {
    const said = verdict(message, found);
    if (why === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(why);
  });
});

describe("reading the marker", () => {
  async function watched() {
    const world = virtualWorld();
    const clock = world.clock();
    const storage = memoryStorage({ clock, random: world.random });
    const { active } = namesOf("t");
    await storage.blobs.ensureContainer(active);
    await storage.blobs.create(active, "r", "", { metadata: encodeMarker(marker) });
    const reads = () => storage.meter.counts().other;
    const mark = async (next: typeof marker) => {
      const found = await storage.blobs.head(active, "r");
      const ifMatch = found.kind === "found" ? found.properties.etag : "";
      await storage.blobs.setMetadata(active, "r", encodeMarker(next), { ifMatch });
    };
    return { world, storage, watch: markerWatch(storage.blobs, namesOf("t"), clock), reads, mark, active };
  }

  test("one read serves five seconds", async () => {
    const { world, watch, reads } = await watched();
    const before = reads();
    for (let count = 0; count < 10; count += 1) expect(await watch.unwanted(compute)).toBeUndefined();
    expect(reads() - before).toBe(1);
    await world.advance(5_001);
    await watch.unwanted(compute);
    expect(reads() - before).toBe(2);
  });

  test("a message of a higher turn makes it read again at once", async () => {
    const { watch, mark } = await watched();
    expect(await watch.unwanted(compute)).toBeUndefined();
    await mark({ ...marker, turn: 2, command: 2 });
    expect(await watch.unwanted({ ...compute, turn: 2 })).toBeUndefined();
    expect(await watch.unwanted(compute)).toMatch(/resumed/);
  });

  test("a run that begins anew under its id is seen at once", async () => {
    const { watch, mark } = await watched();
    expect(await watch.unwanted(compute)).toBeUndefined();
    await mark({ ...marker, uid: "v" });
    expect(await watch.unwanted({ ...compute, uid: "v" })).toBeUndefined();
  });

  test("storage that cannot be read says nothing about the run, and the next question asks again", async () => {
    const { watch, storage, active } = await watched();
    storage.operator.deleteContainer(active);
    await expect(watch.unwanted(compute)).rejects.toThrow();
    await storage.blobs.ensureContainer(active);
    await storage.blobs.create(active, "r", "", { metadata: encodeMarker(marker) });
    expect(await watch.unwanted(compute)).toBeUndefined();
  });
});
