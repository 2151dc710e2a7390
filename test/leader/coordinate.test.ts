import { expect, test } from "vitest";
import { calls, subtractCalls } from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { runBlobs, workName } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, contentTypeOf, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

test("a loop reads at most 25 list pages, however many runs there are, and each of them gets its turn", async () => {
  const account = leadInMemory();
  for (let run = 0; run < 100; run += 1) await account.addRun(`run${run}`);
  const pages = await account.lead(20_000);
  expect(Math.max(...pages)).toBeLessThanOrEqual(25);
  for (let run = 0; run < 100; run += 1) {
    const state = await account.storage.blobs.read(
      account.names.runs,
      runBlobs(`run${run}`, `uidrun${run}`).state,
    );
    expect(state.kind === "found" && (JSON.parse(Buffer.from(state.body).toString()) as State).phase).toBe(
      "computing",
    );
  }
});

test("a run with hundreds of open shards takes turns with its shards", async () => {
  const account = leadInMemory();
  const plan = planOf(100_000);
  const shards = Math.ceil(100_000 / plan.shardSize);
  const state: State = { ...computing(100_000), cursor: 100_000 };
  for (let shard = 0; shard < shards; shard += 1) state.open[shard] = { done: "" };
  // Paused, so that nothing is sent and only the polls count.
  await account.addRun("big", plan, { state, marker: { want: "paused" } });
  for (let shard = 0; shard < shards; shard += 1) {
    const pack = shard * plan.shardSize;
    await account.storage.blobs.create(account.names.runs, runBlobs("big", "uidbig").part(shard, pack), "", {
      contentType: contentTypeOf(),
    });
  }
  const pages = await account.lead(40_000, { loopMs: 2_000, fastLoopMs: 2_000 });
  expect(Math.max(...pages)).toBeLessThanOrEqual(25);
  const found = await account.storage.blobs.read(account.names.runs, runBlobs("big", "uidbig").state);
  expect(found.kind === "found" && (JSON.parse(Buffer.from(found.body).toString()) as State).packsDone).toBe(
    shards,
  );
});

test("a deletion works in slices, leaves nothing of its uid and nothing else out, and ends with the marker", async () => {
  const account = leadInMemory();
  await account.addRun("old", planOf(20_000), { marker: { want: "delete" } });
  await account.addRun("other");
  const { root } = runBlobs("old", "uidold");
  for (let blob = 0; blob < 12_000; blob += 1)
    await account.storage.blobs.create(account.names.runs, `${root}parts/${blob}`, "");
  await account.storage.blobs.create(account.names.results, `${root}001/manifest.json`, "");
  await account.storage.blobs.create(account.names.runs, "old/anotheruid/plan.json", "");
  await account.lead(10_000);
  const left = (container: string) =>
    account.storage.operator.blobNames(container).filter((name) => name.startsWith("old"));
  expect(left(account.names.runs)).toEqual(["old/anotheruid/plan.json"]);
  expect(left(account.names.results)).toEqual([]);
  expect(account.storage.operator.blobNames(account.names.active)).toEqual(["other"]);
});

test("a marker that a submit wrote after a deletion goes, and the spec of another uid stays", async () => {
  const account = leadInMemory();
  await account.addRun("again");
  // What a late worker left; the expiry sweeps it.
  await account.storage.blobs.create(account.names.runs, "again/older/plan.json", "");
  const found = await account.storage.blobs.head(account.names.active, "again");
  if (found.kind === "missing") throw new Error("no marker");
  const { metadata, etag } = found.properties;
  await account.storage.blobs.setMetadata(
    account.names.active,
    "again",
    { ...metadata, uid: "older" },
    { ifMatch: etag },
  );
  await account.lead(3_000);
  expect(account.storage.operator.blobNames(account.names.active)).toEqual([]);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual([
    "again/older/plan.json",
    "again/spec.json",
    "again/uidagain/plan.json",
  ]);
});

test("failures are seen, and nodes too, also where open shards could use every list page there is", async () => {
  const account = leadInMemory();
  const plan = planOf(300_000);
  const shards = Math.ceil(300_000 / plan.shardSize);
  const batches = [{ upTo: 300_000, atMs: Date.UTC(2030, 0, 1) }];
  const state: State = { ...computing(300_000), cursor: 300_000, batches };
  for (let shard = 0; shard < shards; shard += 1) state.open[shard] = { done: "" };
  await account.addRun("big", plan, { state });
  const failed = runBlobs("big", "uidbig").failure({ kind: "pack", shard: 0, pack: 3 }, 1, 1);
  await account.storage.blobs.create(account.names.runs, failed, "", {
    metadata: { cause: "error", message: "" },
  });
  const pages = await account.lead(8_000, { loopMs: 2_000, fastLoopMs: 2_000 });
  expect(Math.max(...pages)).toBeLessThanOrEqual(25);
  const found = await account.storage.blobs.read(account.names.runs, runBlobs("big", "uidbig").state);
  expect(found.kind === "found" && (JSON.parse(Buffer.from(found.body).toString()) as State).phase).toBe(
    "failed",
  );
});

test("a flood of failure records costs no more list pages than the loop has", async () => {
  const account = leadInMemory();
  const plan = planOf(50_000);
  const state: State = { ...computing(50_000), cursor: 50_000 };
  for (let shard = 0; shard < Math.ceil(50_000 / plan.shardSize); shard += 1)
    state.open[shard] = { done: "" };
  await account.addRun("big", plan, { state, marker: { want: "paused" } });
  for (let pack = 0; pack < 6_000; pack += 1) {
    const work = { kind: "pack", shard: Math.floor(pack / plan.shardSize), pack } as const;
    const record = runBlobs("big", "uidbig").failure(work, 2, 1);
    await account.storage.blobs.create(account.names.runs, record, "", {
      metadata: { cause: "error", message: "" },
    });
  }
  const pages = await account.lead(30_000, { loopMs: 2_000, fastLoopMs: 2_000 });
  expect(Math.max(...pages)).toBeLessThanOrEqual(25);
});

test("a new term's sends of recorded tasks share the room of 500 between two writes of the state", async () => {
  const account = leadInMemory();
  const plan = planOf(400_000);
  const sealed = 400;
  const done = sealed * plan.shardSize;
  const state: State = {
    ...computing(400_000),
    cursor: done,
    packsDone: done,
    chunksDone: done,
    rate: 1_000,
  };
  state.durationsMs.push(1_000);
  for (let shard = 0; shard < sealed; shard += 1) {
    state.sealed[shard] = { gen: 1, node: false };
    const work = workName({ kind: "node", level: 1, index: shard });
    state.tasks[work] = { send: 1, sentMs: Date.UTC(2030, 0, 1), losses: 0, awaitedFrom: 1 };
  }
  await account.addRun("big", plan, { state });
  let [sends, most, writes] = [0, 0, 0];
  const { blobs, queues } = account.storage;
  const counting: typeof account.storage = {
    ...account.storage,
    queues: {
      ...queues,
      send(...message) {
        sends += 1;
        most = Math.max(most, sends);
        return queues.send(...message);
      },
    },
    blobs: {
      ...blobs,
      replace(...write) {
        sends = 0;
        writes += 1;
        return blobs.replace(...write);
      },
    },
  };
  Object.assign(account.ports, { storage: counting });
  await account.lead(4_000);
  expect(writes).toBeGreaterThan(1);
  expect(most).toBeGreaterThanOrEqual(sealed);
  expect(most).toBeLessThanOrEqual(limits.sendsPerWriteMax);
});

test("the plan of a new run is on its way after one list, one read and one write", async () => {
  const account = leadInMemory();
  await account.addRun("r");
  const before = account.storage.meter.counts();
  await account.lead(1);
  const made = subtractCalls(account.storage.meter.counts(), before);
  expect(made).toEqual(calls({ list: 1, read: 1, write: 1, queue: 1 }));
  expect(Object.keys((await account.stateOf("r")).tasks)).toEqual(["plan"]);
});

test("a run that was cancelled before a leader saw it ends without any work", async () => {
  const account = leadInMemory();
  await account.addRun("r", undefined, { marker: { command: 1, want: "cancelled" } });
  await account.lead(1_000);
  expect((await account.stateOf("r")).phase).toBe("cancelled");
  expect(await account.storage.queues.stats(account.names.urgent)).toMatchObject({ approximateCount: 0 });
});
