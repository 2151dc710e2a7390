import { expect, test } from "vitest";
import { expiry } from "../../src/engine/leader/deletion/expire.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import { closedBlob } from "../../src/engine/model/closedRun.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { computing, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";
import { dayMs, ended, sweepAll, unmarked, wantOf } from "./sweeping.ts";

test("a finished run is asked to be deleted after its days, and neither a younger one nor one at work", async () => {
  const account = leadInMemory();
  await unmarked(account, "old", ended("complete"));
  await account.addRun("working", planOf(10), { state: computing(10) });
  await account.world.advance(31 * dayMs);
  await unmarked(account, "young", ended("failed"));
  const sweep = expiry(account.ports, 30);
  expect(await sweep.due(account.leader)).toBe(true);
  await sweepAll(account, sweep);
  expect([
    await wantOf(account, "old"),
    await wantOf(account, "young"),
    await wantOf(account, "working"),
  ]).toEqual(["delete", "none", "run"]);
  expect(await sweep.due(account.leader)).toBe(false);
  await account.lead(5_000);
  expect(
    account.storage.operator.blobNames(account.names.runs).filter((name) => name.startsWith("old")),
  ).toEqual([]);
});

test("one sweep a day is enough for all instances", async () => {
  const account = leadInMemory();
  await account.ready;
  await sweepAll(account);
  expect(await expiry(account.ports, 30).due(account.leader)).toBe(false);
  await account.world.advance(dayMs + 1_000);
  expect(await expiry(account.ports, 30).due(account.leader)).toBe(true);
  const fresh = leadInMemory();
  await fresh.ready;
  const newDay = { writtenMs: dayMs - 1, atMs: dayMs };
  const asked = expiry(fresh.ports, 30);
  expect([await asked.dueWhenIdle(newDay), await asked.due(fresh.leader)]).toEqual([false, true]);
});

test("only the first idle tick of a day asks storage whether a sweep is due", async () => {
  const account = leadInMemory();
  await account.ready;
  await sweepAll(account);
  await account.world.advance(dayMs);
  const calls = () => account.storage.meter.counts().other;
  const before = calls();
  const today = { writtenMs: 5 * dayMs, atMs: 6 * dayMs - 1 };
  expect([await expiry(account.ports, 30).dueWhenIdle(today), calls() - before]).toEqual([false, 0]);
  const tomorrow = { writtenMs: 6 * dayMs - 1, atMs: 6 * dayMs };
  expect([await expiry(account.ports, 30).dueWhenIdle(tomorrow), calls() - before]).toEqual([true, 1]);
});

test("a summary that a deposed leader left of a deleted run goes when runs of its age go", async () => {
  const account = leadInMemory();
  await account.ready;
  await account.storage.blobs.create(account.names.runs, closedBlob("gone", 5_000), "");
  await account.world.advance(31 * dayMs);
  await account.storage.blobs.create(account.names.runs, closedBlob("young", 5_000), "");
  await sweepAll(account);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual([
    closedBlob("young", 5_000),
    "_expiry",
  ]);
});

test("an old summary that is written anew between list and removal stays", async () => {
  const account = leadInMemory();
  await account.ready;
  const { storage, names } = account;
  const name = closedBlob("again", 5_000);
  await storage.blobs.create(names.runs, name, "");
  await account.world.advance(31 * dayMs);
  const { list } = storage.blobs;
  storage.blobs.list = async (...asked) => {
    const page = await list(...asked);
    const there = page.blobs.find((one) => one.name === name);
    if (there !== undefined)
      await storage.blobs.setMetadata(names.runs, name, { run: "anew" }, { ifMatch: there.etag });
    return page;
  };
  await expiry(account.ports, 30).slice(account.leader);
  expect(storage.operator.blobNames(names.runs)).toContain(name);
});

test("where runs are kept for ever, storage is asked nothing", async () => {
  const account = leadInMemory();
  await unmarked(account, "kept", ended("complete"));
  await account.world.advance(5_000 * dayMs);
  const calls = () => totalCalls(account.storage.meter.counts());
  const before = calls();
  const sweep = expiry(account.ports, 0);
  const newDay = { writtenMs: dayMs - 1, atMs: dayMs };
  expect([await sweep.due(account.leader), await sweep.dueWhenIdle(newDay), calls() - before]).toEqual([
    false,
    false,
    0,
  ]);
});

test("a list that storage refuses waits for the next day of this process", async () => {
  const account = leadInMemory();
  await unmarked(account, "old", ended("complete"));
  await account.world.advance(31 * dayMs + 1_000);
  const { list } = account.storage.blobs;
  account.storage.blobs.list = () =>
    Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
  const sweep = expiry(account.ports, 30);
  await sweep.slice(account.leader).then(() => expect.fail(), sweep.refused);
  expect(await sweep.due(account.leader)).toBe(false);
  expect(account.log).toMatchObject([{ event: "unexpected", fields: { where: "expiry" } }]);
  account.storage.blobs.list = list;
  await account.world.advance(dayMs);
  await sweepAll(account, sweep);
  expect(await wantOf(account, "old")).toBe("delete");
});

test("hundreds of runs are judged in slices, over pages, and one whose state storage does not give keeps no other", async () => {
  const account = leadInMemory();
  for (let run = 0; run < 250; run += 1) await unmarked(account, `r${run}`, ended("complete"));
  await account.world.advance(31 * dayMs);
  const { list, read } = account.storage.blobs;
  account.storage.blobs.list = (container, prefix, options) =>
    list(container, prefix, { ...options, pageSize: 100 });
  account.storage.blobs.read = (container, name, options) =>
    name.startsWith("r7/") && name.endsWith("state.json")
      ? Promise.reject(new StorageError("busy", "InternalError", 500, "no"))
      : read(container, name, options);
  expect(await sweepAll(account)).toBeGreaterThan(2);
  const wanted = await Promise.all(Array.from({ length: 250 }, (_, run) => wantOf(account, `r${run}`)));
  expect(wanted.flatMap((want, run) => (want === "delete" ? [] : [run]))).toEqual([7]);
});

test("a term that follows begins anew, and finds what the one before it has left", async () => {
  const account = leadInMemory();
  for (let run = 0; run < 40; run += 1) await unmarked(account, `r${run}`, ended("complete"));
  await account.world.advance(31 * dayMs);
  const sweep = expiry(account.ports, 30);
  await sweep.slice(account.leader);
  account.nextTerm();
  expect(await sweep.due(account.leader)).toBe(true);
  await account.lead(10_000);
  account.nextTerm();
  await sweepAll(account, expiry(account.ports, 30));
  await account.lead(10_000);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual(["_expiry"]);
});
