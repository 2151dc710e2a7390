import { expect, test } from "vitest";
import { addSchedule } from "../../src/engine/client/schedules/changeSchedule.ts";
import { anyRunToLead } from "../../src/engine/leader/poll/markers.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { scheduleBlob } from "../../src/engine/model/names.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { forgedRuns, forgedSchedules } from "../support/forgedDocuments.ts";
import { rangesCalculations } from "../support/rangesCode.ts";
import { leadInMemory } from "./leadInMemory.ts";

test("a forged schedule ends no term: runs and other schedules go on, and each process logs it once", async () => {
  const account = leadInMemory();
  const { storage, names, ports, world } = account;
  await account.ready;
  for (const { name, body, metadata } of forgedSchedules)
    await storage.blobs.create(names.active, scheduleBlob(name), body, { metadata });
  await anyRunToLead(ports);
  const client = {
    storage,
    names,
    clock: ports.clock,
    random: world.random,
    calculations: rangesCalculations,
  };
  const run = { calculation: "ranges", params: { chunks: 1, list: false } };
  const { first } = await addSchedule(client, { name: "s", cron: "* * * * *", overlap: "allow", run });
  await account.addRun("run1");
  await account.lead(90_000);
  expect((await storage.blobs.head(names.runs, runBlobs("run1", "uidrun1").state)).kind).toBe("found");
  expect((await storage.blobs.head(names.runs, specBlob(first.run))).kind).toBe("found");
  const told = account.log.flatMap(({ event, fields }) =>
    event === "schedule-stopped" ? fields["schedule"] : [],
  );
  // Those whose times are none of their document's harm are led as any other.
  expect(new Set(told).size).toBe(told.length);
  expect(told).toEqual(
    expect.arrayContaining(["next", "last", "skipped", "deep", "other", "night$(id)", "a/b", "torn"]),
  );
  expect(account.log.filter(({ event }) => event === "run-skipped")).toEqual([]);
});

test("a forged run ends for itself, and no other is later", async () => {
  const account = leadInMemory();
  const { storage, names } = account;
  await account.ready;
  const forged = forgedRuns("run");
  for (const { files } of forged)
    for (const { name, body, metadata } of files)
      await storage.blobs.create(name.includes("/") ? names.runs : names.active, name, body, { metadata });
  await account.addRun("run1");
  await account.lead(90_000);
  const sends = (await account.stateOf("run1")).cursor;
  expect(sends).toBeGreaterThan(0);
  for (const { run } of forged) {
    expect(await storage.blobs.head(names.active, run), run).toEqual({ kind: "missing" });
    const state = await storage.blobs.read(names.runs, runBlobs(run, "u1u1u1u1u1u1").state);
    const text = state.kind === "found" ? Buffer.from(state.body).toString() : "{}";
    expect(decodeJson(stateSchema, text, run), run).toMatchObject({ phase: "failed" });
  }
  expect(account.log.filter(({ event }) => event === "run-skipped")).toEqual([]);
});
