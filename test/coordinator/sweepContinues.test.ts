import { expect, test } from "vitest";
import { expiry } from "../../src/coordinator/deletion/expire.ts";
import { StorageError } from "../../src/model/errors.ts";
import { expiryBlob, sweepBlob } from "../../src/model/names.ts";
import { resultBlobs, runBlobs } from "../../src/model/runBlobs.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { dayMs, ended, unmarked, wantOf } from "./sweeping.ts";

/** So many old runs of some eight blobs each, listed in pages of 50, and partials of a run that is gone. */
async function oldRuns(count: number) {
  const twin = leadOnTwin();
  const { storage, names } = twin;
  for (let run = 0; run < count; run += 1) await unmarked(twin, `r${run}`, ended("complete"));
  for (let part = 0; part < 120; part += 1)
    await storage.blobs.create(names.runs, runBlobs("r40", "gone").part(0, part), "x");
  await twin.world.advance(31 * dayMs);
  const { list } = storage.blobs;
  storage.blobs.list = (container, prefix, options) => list(container, prefix, { ...options, pageSize: 50 });
  return twin;
}
type Twin = Awaited<ReturnType<typeof oldRuns>>;

const wanted = async (twin: Twin, count: number) =>
  await Promise.all(Array.from({ length: count }, (_, run) => wantOf(twin, `r${run}`)));

/** A term of a process that has just started and inspects no more than this; true if another is needed. */
async function term(twin: Twin, { slices, inspected }: { slices: number; inspected: number }) {
  twin.nextTerm();
  const sweep = expiry(twin.ports, 30);
  for (let slice = 0; slice < slices && (await sweep.due(twin.leader)); slice += 1)
    await sweep.slice(twin.leader, inspected);
  await sweep.keep(twin.leader);
  return await sweep.due(twin.leader);
}

test.each([
  ["a slice of a page", { slices: 1, inspected: 1 }],
  ["a page and more", { slices: 3, inspected: 10 }],
])("a sweep of terms that each have time for %s comes to its end, each in a new process", async (_, time) => {
  const twin = await oldRuns(60);
  let terms = 1;
  while (await term(twin, time)) {
    terms += 1;
    expect(terms).toBeLessThan(200);
  }
  expect(terms).toBeGreaterThan(2);
  expect(new Set(await wanted(twin, 60))).toEqual(new Set(["delete"]));
  const left = twin.storage.operator.blobNames(twin.names.runs);
  expect(left.filter((name) => name.includes("/gone/") || name === sweepBlob)).toEqual([]);
  expect(left).toContain(expiryBlob);
});

test("a process that led before continues where another one came to, and ends a sweep that another one has ended", async () => {
  const twin = await oldRuns(60);
  const sweep = expiry(twin.ports, 30);
  await sweep.slice(twin.leader, 1);
  await sweep.keep(twin.leader);
  while (await term(twin, { slices: 3, inspected: 10 }));
  const before = twin.storage.meter.counts().list;
  twin.nextTerm();
  expect(await sweep.due(twin.leader)).toBe(false);
  expect(await sweep.dueWhenIdle({ atMs: 5, writtenMs: 4 })).toBe(false);
  expect(twin.storage.meter.counts().list).toBe(before);
});

test("an idle process whose sweep another one has ended claims no term for it", async () => {
  const twin = await oldRuns(60);
  const sweep = expiry(twin.ports, 30);
  const today = { atMs: 31 * dayMs + 5, writtenMs: 31 * dayMs };
  await sweep.slice(twin.leader, 1);
  await sweep.keep(twin.leader);
  expect(await sweep.dueWhenIdle(today)).toBe(true);
  while (await term(twin, { slices: 3, inspected: 10 }));
  expect(await sweep.dueWhenIdle(today)).toBe(false);
});

test.each([
  ["nothing that can be read", "?"],
  ["a page of a newer version", '{"v":2}'],
])("a sweep begins anew where the one before left %s, and the terms after continue it", async (_, body) => {
  const twin = await oldRuns(60);
  await twin.storage.blobs.create(twin.names.runs, sweepBlob, body);
  let terms = 1;
  while (await term(twin, { slices: 3, inspected: 10 })) {
    terms += 1;
    expect(terms).toBeLessThan(200);
  }
  expect(new Set(await wanted(twin, 60))).toEqual(new Set(["delete"]));
});

const old = { newestMs: 0, stateMs: 0, hasParts: true };
test.each([
  [
    "a generation of a run as a folder",
    { container: "t-results", open: { id: "r0", uid: "uidr0/001", ...old } },
  ],
  [
    "the partials of a run as a folder",
    { container: "t-runs", open: { id: "r0", uid: "uidr0/parts", ...old } },
  ],
  ["the container of inputs", { container: "t-inputs" }],
])("a sweep that another one left deletes nothing where a forger names %s", async (_, page) => {
  const twin = leadOnTwin();
  const { storage, names } = twin;
  await unmarked(twin, "r0", ended("failed"));
  const [at, results] = [runBlobs("r0", "uidr0"), resultBlobs("r0", "uidr0")];
  const kept = [
    [names.runs, at.part(0, 1)],
    [names.results, results.manifest(1)],
    [names.inputs, "_dropped/mine.csv"],
  ] as const;
  await storage.blobs.ensureContainer(names.inputs);
  for (const [container, name] of kept) await storage.blobs.create(container, name, "x");
  await twin.world.advance(31 * dayMs);
  await storage.blobs.create(names.runs, sweepBlob, JSON.stringify({ v: 1, ...page }));
  await expiry(twin.ports, 30).slice(twin.leader);
  for (const [container, name] of kept) expect(storage.operator.blobNames(container)).toContain(name);
});

test("a term whose sweep cannot be kept ends as any other", async () => {
  const twin = await oldRuns(5);
  const refused = new StorageError("busy", "ServerBusy", 503, "busy");
  twin.storage.blobs.create = (_container, name) =>
    name === sweepBlob ? Promise.reject(refused) : expect.fail(name);
  const sweep = expiry(twin.ports, 30);
  await sweep.slice(twin.leader, 0);
  await sweep.keep(twin.leader);
  expect(twin.log).toContainEqual(expect.objectContaining({ event: "unexpected" }));
});

test("a deposed leader that ends its sweep does not remove the place of a later one", async () => {
  const twin = await oldRuns(60);
  await term(twin, { slices: 1, inspected: 1 });
  const [early, late] = [expiry(twin.ports, 30), expiry(twin.ports, 30)];
  const deposed = { ...twin.leader };
  await early.slice(deposed, 1);
  twin.nextTerm();
  await late.slice(twin.leader, 1);
  await late.keep(twin.leader);
  for (let slice = 0; slice < 200 && (await early.due(deposed)); slice += 1) await early.slice(deposed);
  expect(await early.due(deposed)).toBe(false);
  expect(await twin.storage.blobs.head(twin.names.runs, sweepBlob)).toMatchObject({ kind: "found" });
});

test("a deposed leader does not put its place over that of a later one", async () => {
  const twin = await oldRuns(60);
  await term(twin, { slices: 1, inspected: 1 });
  const [early, late] = [expiry(twin.ports, 30), expiry(twin.ports, 30)];
  await early.slice(twin.leader, 1);
  const { term: before, lost } = twin.leader;
  twin.nextTerm();
  for (let slice = 0; slice < 3; slice += 1) await late.slice(twin.leader, 10);
  await late.keep(twin.leader);
  const kept = async () => await twin.storage.blobs.head(twin.names.runs, sweepBlob);
  const there = await kept();
  await early.keep({ term: before, lost });
  expect(there.kind).toBe("found");
  expect(await kept()).toEqual(there);
});
