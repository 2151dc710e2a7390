import { describe, expect, test } from "vitest";
import { encodeMarker, type Marker } from "../../src/engine/model/marker.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { markerWatch, unwantedReason } from "../../src/engine/worker/markerWatch.ts";
import type { WorkStage } from "../../src/engine/worker/ports.ts";
import { marker } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const common = { v: 1, run: "r", uid: "u", gen: 1, send: 1, turn: 0 } as const;
const compute: WorkMessage = { ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 };
const finish: WorkMessage = { ...common, kind: "finish" };

const combine: WorkMessage = { ...common, kind: "combine", level: 1, index: 0 };
const plan: WorkMessage = { ...common, kind: "plan" };
const cleanup: WorkMessage = { ...common, kind: "cleanup", shard: 0 };
const sofar: WorkMessage = { ...common, kind: "sofar", tag: "t", nodes: "", open: [0] };
const verify: WorkMessage = { ...common, kind: "verify", tag: "t", pack: 0 };

const whys = {
  gone: /ended/,
  uid: /another run/,
  deleted: /deleted/,
  generation: /later generation/,
  paused: /paused$/,
  cancelled: /cancelled/,
  turn: /resumed/,
};
const markers: Readonly<Record<keyof typeof whys, Marker | undefined>> = {
  gone: undefined,
  uid: { ...marker, uid: "x" },
  deleted: { ...marker, want: "delete" },
  generation: { ...marker, generation: 2 },
  paused: { ...marker, want: "paused" },
  cancelled: { ...marker, want: "cancelled" },
  turn: { ...marker, turn: 2 },
};
const all = Object.keys(whys) as (keyof typeof whys)[];

/** What drops a message, by kind and stage; everything that is not listed does not. */
const table: readonly (readonly [WorkMessage, readonly WorkStage[], readonly (keyof typeof whys)[]])[] = [
  [compute, ["begin"], all],
  // A pack that was begun is written under any turn and generation: its partial is the right one.
  [compute, ["write", "end"], ["gone", "uid", "deleted"]],
  [plan, ["begin", "write", "end"], ["gone", "uid", "deleted", "generation"]],
  [combine, ["begin", "write", "end"], ["gone", "uid", "deleted", "generation"]],
  [finish, ["begin", "write", "end"], ["gone", "uid", "deleted", "generation"]],
  // Clean-up asks the manifest; what clients ask for is about runs in any state.
  [cleanup, ["begin", "write", "end"], []],
  [sofar, ["begin", "write", "end"], []],
  [verify, ["begin", "write", "end"], []],
];

describe("whether work is still wanted", () => {
  const cases = table.flatMap(([message, stages, dropping]) =>
    stages.flatMap((stage) =>
      all.map((state) => ({ kind: message.kind, message, stage, state, dropped: dropping.includes(state) })),
    ),
  );
  test.each(cases)("$kind at $stage with the marker $state: dropped $dropped", (one) => {
    const said = unwantedReason(one.message, markers[one.state], one.stage);
    if (one.dropped) expect(said).toMatch(whys[one.state]);
    else expect(said).toBeUndefined();
  });

  test.each(table)("$kind goes on while the run is active", (message, stages) => {
    for (const stage of stages) expect(unwantedReason(message, marker, stage)).toBeUndefined();
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
    for (let count = 0; count < 10; count += 1)
      expect(await watch.unwanted(compute, "begin")).toBeUndefined();
    expect(reads() - before).toBe(1);
    await world.advance(5_001);
    await watch.unwanted(compute, "begin");
    expect(reads() - before).toBe(2);
  });

  test("a message of a higher turn makes it read again at once", async () => {
    const { watch, mark } = await watched();
    expect(await watch.unwanted(compute, "begin")).toBeUndefined();
    await mark({ ...marker, turn: 2, command: 2 });
    expect(await watch.unwanted({ ...compute, turn: 2 }, "begin")).toBeUndefined();
    expect(await watch.unwanted(compute, "begin")).toMatch(/resumed/);
  });

  test("a message of a higher generation makes it read again at once", async () => {
    const { watch, mark } = await watched();
    await mark({ ...marker, want: "cancelled" });
    expect(await watch.unwanted(compute, "begin")).toMatch(/cancelled/);
    await mark({ ...marker, generation: 2, command: 2 });
    expect(await watch.unwanted({ ...compute, gen: 2 }, "begin")).toBeUndefined();
  });

  test("the end of a send reads the marker again, since its record must not outlive the run", async () => {
    const { watch, storage, active } = await watched();
    expect(await watch.unwanted(compute, "begin")).toBeUndefined();
    await storage.blobs.remove(active, "r");
    expect(await watch.unwanted(compute, "write")).toBeUndefined();
    expect(await watch.unwanted(compute, "end")).toMatch(/ended/);
  });

  test("clean-up and questions of clients cost no read", async () => {
    const { watch, reads } = await watched();
    const before = reads();
    for (const message of [cleanup, sofar, verify]) await watch.unwanted(message, "begin");
    expect(reads()).toBe(before);
  });

  test("a run that begins anew under its id is seen at once", async () => {
    const { watch, mark } = await watched();
    expect(await watch.unwanted(compute, "begin")).toBeUndefined();
    await mark({ ...marker, uid: "v" });
    expect(await watch.unwanted({ ...compute, uid: "v" }, "begin")).toBeUndefined();
  });

  test("a failed read says nothing about the run, and the next question reads again", async () => {
    const { watch, storage, active } = await watched();
    storage.operator.deleteContainer(active);
    await expect(watch.unwanted(compute, "begin")).rejects.toThrow();
    await storage.blobs.ensureContainer(active);
    await storage.blobs.create(active, "r", "", { metadata: encodeMarker(marker) });
    expect(await watch.unwanted(compute, "begin")).toBeUndefined();
  });
});
