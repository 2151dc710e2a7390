import { expect, test } from "vitest";
import { expiry } from "../../src/engine/leader/deletion/expire.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";
import { dayMs, ended, sweepAll, unmarked, wantOf } from "./sweeping.ts";

test("a retry of the same moment is not undone: the marker that is there stands", async () => {
  const account = leadInMemory();
  await account.addRun("old", planOf(10), { state: ended("failed"), marker: { generation: 2 } });
  await account.world.advance(31 * dayMs);
  await sweepAll(account);
  expect(await wantOf(account, "old")).toBe("run");
});

test("an expiry whose marker comes after a retry has come and gone deletes nothing", async () => {
  const account = leadInMemory();
  await unmarked(account, "r", { ...ended("complete"), generation: 2 });
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  const late = encodeMarker({ ...marker, by: "expiry" });
  await account.storage.blobs.create(account.names.active, "r", "", { metadata: late });
  await account.lead(3_000);
  expect(await wantOf(account, "r")).toBe("none");
  expect(account.storage.operator.blobNames(account.names.runs)).toContain("r/uidr/state.json");
});

/** What a retry leaves that came and went: the state of its generation, written just now. */
async function retried(account: ReturnType<typeof leadInMemory>, id: string) {
  const { blobs } = account.storage;
  const name = runBlobs(id, `uid${id}`).state;
  const found = await blobs.read(account.names.runs, name);
  if (found.kind === "missing") throw new Error("no state");
  const state = { ...JSON.parse(Buffer.from(found.body).toString()), generation: 2 };
  const ifMatch = found.properties.etag;
  expect(await blobs.replace(account.names.runs, name, JSON.stringify(state), { ifMatch })).toMatchObject({
    kind: "replaced",
  });
}

test("a run that was retried after the sweep had listed it is young again", async () => {
  const account = leadInMemory();
  for (let run = 0; run < 120; run += 1) await unmarked(account, `r${100 + run}`, ended("failed"));
  await account.world.advance(31 * dayMs);
  const sweep = expiry(account.ports, 30);
  await sweep.slice(account.leader);
  await retried(account, "r219");
  await sweepAll(account, sweep);
  expect([await wantOf(account, "r218"), await wantOf(account, "r219")]).toEqual(["delete", "none"]);
});

test("a run that was retried between the expiry's judgment and its deletion stays whole", async () => {
  const account = leadInMemory();
  await unmarked(account, "r", ended("failed"));
  await account.world.advance(31 * dayMs);
  const { create } = account.storage.blobs;
  account.storage.blobs.create = async (container, name, body, write) => {
    if (name === "r") await retried(account, "r");
    return create(container, name, body, write);
  };
  await sweepAll(account);
  expect(await wantOf(account, "r")).toBe("delete");
  const before = account.storage.operator.blobNames(account.names.runs);
  await account.lead(3_000);
  expect(await wantOf(account, "r")).toBe("none");
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual(before);
});

test("a large run that expired is deleted whole, though its state goes first", async () => {
  const account = leadInMemory();
  await unmarked(account, "r", ended("failed"));
  for (let pack = 0; pack < 1_200; pack += 1)
    await account.storage.blobs.create(account.names.runs, runBlobs("r", "uidr").part(0, pack), "");
  await account.world.advance(31 * dayMs);
  await sweepAll(account);
  await account.lead(10_000);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual(["_expiry"]);
});

test("a person's delete is executed at any generation", async () => {
  const account = leadInMemory();
  await unmarked(account, "r", { ...ended("complete"), generation: 2 });
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  await account.storage.blobs.create(account.names.active, "r", "", { metadata: encodeMarker(marker) });
  await account.lead(3_000);
  expect(account.storage.operator.blobNames(account.names.runs)).toEqual([]);
});
