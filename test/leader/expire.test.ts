import { expect, test } from "vitest";
import { expiry } from "../../src/engine/leader/deletion/expire.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import { closedBlob } from "../../src/engine/model/closedRun.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { computing, planOf } from "../support/runFixtures.ts";
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
  const { list } = storage.blobs;
  storage.blobs.list = async (...asked) => {
    const page = await list(...asked);
    const there = page.blobs.find((one) => one.name === name);
    if (there !== undefined)
      await storage.blobs.setMetadata(names.runs, name, { run: "anew" }, { ifMatch: there.etag });
    return page;
  };
  await expiry(twin.ports, 30).slice(twin.leader);
  expect(storage.operator.blobNames(names.runs)).toContain(name);
});

test("where runs are kept for ever, storage is asked nothing", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "kept", ended("complete"));
  await twin.world.advance(5_000 * dayMs);
  const calls = () => totalCalls(twin.storage.meter.counts());
  const before = calls();
  const sweep = expiry(twin.ports, 0);
  const newDay = { writtenMs: dayMs - 1, atMs: dayMs };
  expect([await sweep.due(twin.leader), await sweep.dueWhenIdle(newDay), calls() - before]).toEqual([
    false,
    false,
    0,
  ]);
});

test("a list that storage refuses waits for the next day of this process", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "old", ended("complete"));
  await twin.world.advance(31 * dayMs + 1_000);
  const { list } = twin.storage.blobs;
  twin.storage.blobs.list = () =>
    Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
  const sweep = expiry(twin.ports, 30);
  await sweep.slice(twin.leader).then(() => expect.fail(), sweep.refused);
  expect(await sweep.due(twin.leader)).toBe(false);
  expect(twin.log).toMatchObject([{ event: "unexpected", fields: { where: "expiry" } }]);
  twin.storage.blobs.list = list;
  await twin.world.advance(dayMs);
  await sweepAll(twin, sweep);
  expect(await wantOf(twin, "old")).toBe("delete");
});

test("hundreds of runs are judged in slices, over pages, and one whose state storage does not give keeps no other", async () => {
  const twin = leadOnTwin();
  for (let run = 0; run < 250; run += 1) await unmarked(twin, `r${run}`, ended("complete"));
  await twin.world.advance(31 * dayMs);
  const { list, read } = twin.storage.blobs;
  twin.storage.blobs.list = (container, prefix, options) =>
    list(container, prefix, { ...options, pageSize: 100 });
  twin.storage.blobs.read = (container, name, options) =>
    name.startsWith("r7/") && name.endsWith("state.json")
      ? Promise.reject(new StorageError("busy", "InternalError", 500, "no"))
      : read(container, name, options);
  expect(await sweepAll(twin)).toBeGreaterThan(2);
  const wanted = await Promise.all(Array.from({ length: 250 }, (_, run) => wantOf(twin, `r${run}`)));
  expect(wanted.flatMap((want, run) => (want === "delete" ? [] : [run]))).toEqual([7]);
});

test("a term that follows begins anew, and finds what the one before it has left", async () => {
  const twin = leadOnTwin();
  for (let run = 0; run < 40; run += 1) await unmarked(twin, `r${run}`, ended("complete"));
  await twin.world.advance(31 * dayMs);
  const sweep = expiry(twin.ports, 30);
  await sweep.slice(twin.leader);
  twin.nextTerm();
  expect(await sweep.due(twin.leader)).toBe(true);
  await twin.lead(10_000);
  twin.nextTerm();
  await sweepAll(twin, expiry(twin.ports, 30));
  await twin.lead(10_000);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(["_expiry"]);
});
