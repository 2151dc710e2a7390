import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { threadPool } from "../../src/app/threadPool.ts";
import { type FileAccess, noAccess } from "../../src/engine/calculation/files.ts";
import { type CallCounts, decodeCalls } from "../../src/engine/model/calls.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { blobFiles } from "../../src/engine/worker/blobFiles.ts";
import { marker, spec } from "../support/runFixtures.ts";
import { common, workerWorld } from "./workerWorld.ts";

let current: FileAccess = noAccess;
const access: FileAccess = {
  list: (...asked) => current.list(...asked),
  read: (...asked) => current.read(...asked),
};
const file = join(import.meta.dirname, "..", "fixtures", "reading.calculation.ts");
const pool = threadPool({ threads: 2, memoryMb: 128, files: [file], access, onIdleCrash: () => {} });
afterAll(() => pool.stop());

/**
 * The calls of the plan of a run over four files, those left out that read its files: how many chunks are timed depends on
 * how long they take. If told to, the same process plans another run meanwhile.
 */
async function planned(beside: boolean): Promise<CallCounts> {
  const world = await workerWorld(pool);
  const { names, storage } = world;
  const { blobs } = storage;
  for (const container of ["mine", "theirs"]) {
    await blobs.ensureContainer(container);
    for (const name of ["a", "b", "d", "e"]) await blobs.create(container, name, "12345");
  }
  // A size of packs is given, so that each sample is taken once.
  const run = { calculation: "reading", packSize: 1 };
  await world.submit({ ...run, params: { source: "mine/", how: "one" } });
  const other = { run: "r2", uid: "u2" };
  const theirs = { ...spec, ...run, ...other, params: { source: "theirs/", how: "one" } };
  await blobs.create(names.runs, specBlob("r2"), JSON.stringify(theirs));
  await blobs.create(names.active, "r2", "", { metadata: encodeMarker({ ...marker, uid: "u2" }) });
  const files = blobFiles(blobs);
  let isFirst = beside;
  let reads = 0;
  current = {
    list: files.list,
    async read(...asked) {
      if (asked[0].path.startsWith("mine/")) reads += 1;
      const begins = isFirst;
      isFirst = false;
      if (begins) await world.work({ ...common, ...other, kind: "plan" });
      return await files.read(...asked);
    },
  };
  // What the test itself called.
  storage.meter.take();
  await world.work({ ...common, kind: "plan" });
  expect(isFirst).toBe(false);
  const calls = decodeCalls((await world.plan()).calls);
  expect(reads).toBeGreaterThan(0);
  return { ...calls, read: calls.read - reads };
}

it("a run's calls are those made for it, its threads' included, whatever the same process does for others", async () => {
  const alone = await planned(false);
  expect(alone).toMatchObject({ list: 1 });
  expect(await planned(true)).toEqual(alone);
});
