import { expect, test } from "vitest";
import { planWorkers } from "../../../src/engine/client/estimate/planWorkers.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { heartbeatWork, putHeartbeat } from "../../support/heartbeatProcess.ts";
import { clientWorld } from "../clientWorld.ts";

const nothingSet = readSettings({});

test("a plan takes the threads of live instances, in one call, and neither silent nor ended processes", async () => {
  const { client, world, storage } = await clientWorld();
  await putHeartbeat(client, "silent", { threads: 50, works: [heartbeatWork(1)] });
  await world.advance(60_000);
  await putHeartbeat(client, "node-1", { threads: 4, works: [heartbeatWork(2)] });
  await putHeartbeat(client, "ended", { threads: 50, ended: "SIGKILL", works: [heartbeatWork(3)] });
  const asked = async () => client;
  expect(await planWorkers(nothingSet, asked)).toEqual({
    ...{ workers: 4, workersFrom: "4 threads of 1 live instance", seen: 4 },
  });
  await putHeartbeat(client, "node-2", { threads: 8, works: [heartbeatWork(4)] });
  const before = storage.meter.counts();
  expect(await planWorkers(nothingSet, asked)).toEqual({
    ...{ workers: 12, workersFrom: "12 threads of 2 live instances", seen: 12 },
  });
  const { list, ...others } = storage.meter.counts();
  expect([list, others]).toEqual([before.list + 1, { ...others, read: before.read, other: before.other }]);
});

test("what the setting says comes first, and costs no call", async () => {
  const set = readSettings({ LEASEFOLD_PLAN_WORKERS: "30" });
  const never = () => Promise.reject(new Error("not asked"));
  expect(await planWorkers(set, never)).toEqual({ workers: 30, workersFrom: "LEASEFOLD_PLAN_WORKERS" });
  const local = readSettings({ LEASEFOLD_PLAN_WORKERS: "4 threads of 2 local instances" });
  expect(await planWorkers(local, never)).toEqual({
    ...{ workers: 4, workersFrom: "4 threads of 2 local instances" },
  });
});

test("where nothing is live, and where no storage answers, it is 20, and says why", async () => {
  const { client } = await clientWorld({ places: false });
  expect(await planWorkers(nothingSet, async () => client)).toEqual({
    ...{ workers: 20, workersFrom: "the default, as no instance is live" },
  });
  const away = () => Promise.reject(new Error("away"));
  expect(await planWorkers(nothingSet, away)).toEqual({
    ...{ workers: 20, workersFrom: "the default, as no storage answers" },
  });
});
