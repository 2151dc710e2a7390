import { expect, test } from "vitest";
import { expiry } from "../../src/engine/leader/deletion/expire.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";
import { dayMs, ended, sweepAll, unmarked, wantOf } from "./sweeping.ts";

test("a retry of the same moment is not undone: the marker that is there stands", async () => {
  const twin = leadOnTwin();
  await twin.addRun("old", planOf(10), { state: ended("failed"), marker: { generation: 2 } });
  await twin.world.advance(31 * dayMs);
  await sweepAll(twin);
  expect(await wantOf(twin, "old")).toBe("run");
});

test("an expiry whose marker comes after a retry has come and gone deletes nothing", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "r", { ...ended("complete"), generation: 2 });
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  const late = encodeMarker({ ...marker, by: "expiry" });
  await twin.storage.blobs.create(twin.names.active, "r", "", { metadata: late });
  await twin.lead(3_000);
  expect(await wantOf(twin, "r")).toBe("none");
  expect(twin.storage.operator.blobNames(twin.names.runs)).toContain("r/uidr/state.json");
});

/** What a retry leaves that came and went: the state of its generation, written just now. */
async function retried(twin: ReturnType<typeof leadOnTwin>, id: string) {
  const { blobs } = twin.storage;
  const name = runBlobs(id, `uid${id}`).state;
  const found = await blobs.read(twin.names.runs, name);
  if (found.kind === "missing") throw new Error("no state");
  const state = { ...JSON.parse(Buffer.from(found.body).toString()), generation: 2 };
  const ifMatch = found.properties.etag;
  expect(await blobs.replace(twin.names.runs, name, JSON.stringify(state), { ifMatch })).toMatchObject({
    kind: "replaced",
  });
}

test("a run that was retried after the sweep had listed it is young again", async () => {
  const twin = leadOnTwin();
  for (let run = 0; run < 120; run += 1) await unmarked(twin, `r${100 + run}`, ended("failed"));
  await twin.world.advance(31 * dayMs);
  const sweep = expiry(twin.ports, 30);
  await sweep.slice(twin.leader);
  await retried(twin, "r219");
  await sweepAll(twin, sweep);
  expect([await wantOf(twin, "r218"), await wantOf(twin, "r219")]).toEqual(["delete", "none"]);
});

test("a run that was retried between the expiry's judgment and its deletion stays whole", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "r", ended("failed"));
  await twin.world.advance(31 * dayMs);
  const { create } = twin.storage.blobs;
  twin.storage.blobs.create = async (container, name, body, write) => {
    if (name === "r") await retried(twin, "r");
    return create(container, name, body, write);
  };
  await sweepAll(twin);
  expect(await wantOf(twin, "r")).toBe("delete");
  const before = twin.storage.operator.blobNames(twin.names.runs);
  await twin.lead(3_000);
  expect(await wantOf(twin, "r")).toBe("none");
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(before);
});

test("a large run that expired is deleted whole, though its state goes first", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "r", ended("failed"));
  for (let pack = 0; pack < 1_200; pack += 1)
    await twin.storage.blobs.create(twin.names.runs, runBlobs("r", "uidr").part(0, pack), "");
  await twin.world.advance(31 * dayMs);
  await sweepAll(twin);
  await twin.lead(10_000);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual(["_expiry"]);
});

test("a person's delete is executed at any generation", async () => {
  const twin = leadOnTwin();
  await unmarked(twin, "r", { ...ended("complete"), generation: 2 });
  const marker = { uid: "uidr", want: "delete", generation: 1, cap: 1, turn: 0, command: 1 } as const;
  await twin.storage.blobs.create(twin.names.active, "r", "", { metadata: encodeMarker(marker) });
  await twin.lead(3_000);
  expect(twin.storage.operator.blobNames(twin.names.runs)).toEqual([]);
});
