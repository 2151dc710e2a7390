import { expect, test } from "vitest";
import { expiry } from "../../src/coordinator/deletion/expire.ts";
import { foldersOn, oldOn } from "../../src/coordinator/deletion/sweep.ts";
import { closedBlob } from "../../src/model/closedRun.ts";
import { StorageError } from "../../src/model/errors.ts";
import type { LogEvent } from "../../src/model/log.ts";
import { droppedBlobs } from "../../src/model/names.ts";
import { resultBlobs, runBlobs } from "../../src/model/runBlobs.ts";
import { computing, manifest, planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { dayMs, ended, sweepAll, unmarked, wantOf } from "./sweeping.ts";

test("a finished run is asked to be deleted after its days, and neither a younger one nor one at work", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "old", ended("complete"));
  await twin.addRun("working", planOf(10), { state: computing(10) });
  await twin.world.advance(31 * dayMs);
  await unmarked(twin, "young", ended("failed"));
  const sweep = expiry(twin.ports, 30);
  expect(await sweep.due(twin.leader)).toBe(true);
  await sweepAll(twin, sweep);
  expect([await wantOf(twin, "old"), await wantOf(twin, "young"), await wantOf(twin, "working")]).toEqual([
    "delete",
    "none",
    "run",
  ]);
  expect(await sweep.due(twin.leader)).toBe(false);
  await twin.lead(5_000);
  expect(twin.storage.operator.blobNames(twin.names.runs).filter((name) => name.startsWith("old"))).toEqual(
    [],
  );
});

test("what nobody owns is swept away once no late writer can be at work, in both containers", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "again", ended("complete"));
  const blobs = runBlobs("again", "gone");
  await twin.storage.blobs.create(twin.names.runs, blobs.part(0, 1), "");
  await twin.storage.blobs.create(twin.names.results, resultBlobs("again", "gone").manifest(1), "");
  await twin.world.advance(600_000);
  await sweepAll(twin);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toContain(blobs.part(0, 1));
  await twin.world.advance(2 * 3_600_000);
  await sweepAll(twin);
  expect(twin.storage.operator.blobNames(twin.names.runs).filter((name) => name.includes("/gone/"))).toEqual(
    [],
  );
  expect(twin.storage.operator.blobNames(twin.names.results)).toEqual([]);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toContain("again/uidagain/state.json");
});

test.each([
  [true, 0],
  [false, 1],
])(
  "a partial that came after the clean-up goes if the result is complete (%j), else it stays for a retry",
  async (complete, left) => {
    const twin = leadOnTwin();
    await unmarked(twin, "r", ended("complete"));
    await twin.storage.blobs.create(
      twin.names.results,
      resultBlobs("r", "uidr").manifest(1),
      JSON.stringify({ ...manifest, complete }),
    );
    await twin.storage.blobs.create(twin.names.runs, runBlobs("r", "uidr").part(0, 3), "");
    await twin.world.advance(3 * 3_600_000);
    await sweepAll(twin);
    expect(
      twin.storage.operator.blobNames(twin.names.runs).filter((name) => name.includes("/parts/")),
    ).toHaveLength(left);
  },
);

test("one sweep a day is enough for all instances", async () => {
  const twin = leadOnTwin();
  await twin.ready;
  await sweepAll(twin);
  expect(await expiry(twin.ports, 30).due(twin.leader)).toBe(false);
  await twin.world.advance(dayMs + 1_000);
  expect(await expiry(twin.ports, 30).due(twin.leader)).toBe(true);
  const fresh = leadOnTwin();
  await fresh.ready;
  const newDay = { writtenMs: dayMs - 1, atMs: dayMs };
  const asked = expiry(fresh.ports, 30);
  expect([await asked.dueWhenIdle(newDay), await asked.due(fresh.leader)]).toEqual([false, true]);
});

test("only the first idle tick of a day asks storage whether a sweep is due", async () => {
  const twin = leadOnTwin();
  await twin.ready;
  await sweepAll(twin);
  await twin.world.advance(dayMs);
  const calls = () => twin.storage.meter.counts().other;
  const before = calls();
  const today = { writtenMs: 5 * dayMs, atMs: 6 * dayMs - 1 };
  expect([await expiry(twin.ports, 30).dueWhenIdle(today), calls() - before]).toEqual([false, 0]);
  const tomorrow = { writtenMs: 6 * dayMs - 1, atMs: 6 * dayMs };
  expect([await expiry(twin.ports, 30).dueWhenIdle(tomorrow), calls() - before]).toEqual([true, 1]);
});

test("a folder that goes over a page is one folder", () => {
  const at = (name: string, lastModifiedMs: number) => ({ name, lastModifiedMs });
  const first = foldersOn([at("a/spec.json", 9), at("a/u/parts/0/1", 1), at("_dropped/x/y", 9)], undefined);
  expect(first).toMatchObject({ ended: [], open: { id: "a", uid: "u", newestMs: 1 } });
  const second = foldersOn(
    [at("a/u/state.json", 5), at("a/v/plan.json", 2), at("b/u/plan.json", 3)],
    first.open,
  );
  expect(second.ended).toEqual([
    { id: "a", uid: "u", newestMs: 5, stateMs: 5, hasParts: true },
    { id: "a", uid: "v", newestMs: 2, stateMs: undefined, hasParts: false },
  ]);
});

test("where finished runs are kept for ever, what belongs to no run is swept away all the same", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "kept", ended("complete"));
  await twin.storage.blobs.create(twin.names.runs, runBlobs("kept", "gone").part(0, 1), "");
  await twin.world.advance(5_000 * dayMs);
  const sweep = expiry(twin.ports, 0);
  expect(await sweep.due(twin.leader)).toBe(true);
  await sweepAll(twin, sweep);
  expect(await wantOf(twin, "kept")).toBe("none");
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(
    [
      "_expiry",
      ...["plan.json", "state.json"].map((name) => `kept/uidkept/${name}`).toSorted(),
      "kept/spec.json",
    ].toSorted(),
  );
});

test("a page that storage refuses for good is given up for the day, and the other container is swept", async () => {
  const logged: string[] = [];
  const twin = leadOnTwin();
  await twin.ready;
  const { list } = twin.storage.blobs;
  const listed: string[] = [];
  twin.storage.blobs.list = async (container, prefix, options) => {
    listed.push(container);
    if (container !== twin.names.runs) return list(container, prefix, options);
    throw new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no");
  };
  const ports = { ...twin.ports, log: ({ event }: LogEvent) => void logged.push(event) };
  const sweep = expiry(ports, 30);
  await sweepAll(twin, sweep);
  const { runs, results } = twin.names;
  expect(listed).toEqual([runs, runs, runs, results]);
  expect(logged.filter((event) => event === "expiry-failed")).toHaveLength(3);
  expect([await sweep.due(twin.leader), await expiry(ports, 30).due(twin.leader)]).toEqual([false, false]);
});

test("records that storage does not delete keep no sweep from its end", async () => {
  const twin = leadOnTwin();
  await twin.ready;
  const name = `${droppedBlobs}packs/x`;
  await twin.storage.blobs.create(twin.names.runs, name, "");
  await twin.world.advance(31 * dayMs);
  const lease = twin.storage.lease(twin.names.runs, name);
  await lease.acquire("6b1d0e8e-0000-4000-8000-000000000001", 60);
  await sweepAll(twin);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual([name, "_expiry"]);
  await twin.world.advance(dayMs + 1_000);
  await sweepAll(twin);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(["_expiry"]);
});

test("a summary that a deposed leader left of a deleted run goes when runs of its age go", async () => {
  const twin = leadOnTwin();
  await twin.ready;
  await twin.storage.blobs.create(twin.names.runs, closedBlob("gone", 5_000), "");
  await twin.world.advance(31 * dayMs);
  await twin.storage.blobs.create(twin.names.runs, closedBlob("young", 5_000), "");
  await sweepAll(twin);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual([closedBlob("young", 5_000), "_expiry"]);
});

test("an old summary that is written anew between list and removal stays", async () => {
  const twin = leadOnTwin();
  await twin.ready;
  const { storage, names } = twin;
  const name = closedBlob("again", 5_000);
  await storage.blobs.create(names.runs, name, "");
  await twin.world.advance(31 * dayMs);
  const found = await storage.blobs.list(names.runs, "_closed/");
  const { summaries } = oldOn(found.blobs, { nowMs: found.dateMs, keepMs: 30 * dayMs, quietMs: 0 });
  expect(summaries.map((one) => one.name)).toEqual([name]);
  const { list } = storage.blobs;
  const ports = {
    ...twin.ports,
    storage: {
      ...storage,
      blobs: {
        ...storage.blobs,
        async list(...asked: Parameters<typeof list>) {
          const page = await list(...asked);
          const there = page.blobs.find((one) => one.name === name);
          if (there !== undefined)
            await storage.blobs.setMetadata(names.runs, name, { run: "anew" }, { ifMatch: there.etag });
          return page;
        },
      },
    },
  };
  await expiry(ports, 30).slice(twin.leader);
  expect(storage.operator.blobNames(names.runs)).toContain(name);
});

test("a submit that broke off expires too, and the same id can be submitted again", async () => {
  const twin = leadOnTwin();
  await twin.addRun("broken");
  await twin.storage.blobs.remove(twin.names.active, "broken");
  twin.storage.operator.deleteBlob(twin.names.runs, "broken/uidbroken/plan.json");
  await twin.world.advance(31 * dayMs);
  await sweepAll(twin);
  await twin.lead(3_000);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(["_expiry"]);
  expect(await wantOf(twin, "broken")).toBe("none");
});

test("hundreds of runs are inspected in slices, and a blob that is leased keeps no other from expiring", async () => {
  const twin = leadOnTwin();
  for (let run = 0; run < 250; run += 1) await unmarked(twin, `r${run}`, ended("complete"));
  await twin.storage.blobs.create(twin.names.runs, "r7/gone/x", "");
  const lease = twin.storage.lease(twin.names.runs, "r7/gone/x");
  await lease.acquire("6b1d0e8e-0000-4000-8000-000000000001", 60);
  await twin.world.advance(31 * dayMs);
  await lease.acquire("6b1d0e8e-0000-4000-8000-000000000001", 60);
  expect(await sweepAll(twin)).toBeGreaterThan(2);
  const wanted = await Promise.all(Array.from({ length: 250 }, (_, run) => wantOf(twin, `r${run}`)));
  expect(new Set(wanted)).toEqual(new Set(["delete"]));
});
