import { expect, test } from "vitest";
import { prune } from "../../src/engine/client/prune.ts";
import { readMarker } from "../../src/engine/client/runDocuments.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { closedBlob } from "../../src/engine/model/closedRun.ts";
import { resultBlobs, runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "./clientWorld.ts";

const dayMs = 86_400_000;
const monthMs = 30 * dayMs;

/** A run that has ended with a result, as a leader leaves it. */
async function ended({ client, storage, putResult }: Awaited<ReturnType<typeof clientWorld>>, id: string) {
  const run = await submit(client, { calculation: "sum", params: { to: 100 }, id });
  await putResult(run, "5050");
  storage.operator.deleteBlob(names.active, id);
  const spec = await storage.blobs.head(names.runs, specBlob(id));
  if (spec.kind === "missing") throw new Error("no spec");
  await storage.blobs.create(names.runs, closedBlob(id, spec.properties.lastModifiedMs), "");
  return run;
}

test("runs that ended long ago are asked to be deleted, and neither younger ones nor one that is tried again or reused by one at work", async () => {
  const world = await clientWorld();
  await ended(world, "old");
  await ended(world, "reused");
  const again = await ended(world, "again");
  await world.world.advance(monthMs + 2_000);
  await world.putMarker(again, { generation: 2, keeps: "reused" });
  await ended(world, "young");
  expect(await prune(world.client, monthMs)).toEqual({ runs: ["old"], blobs: 0 });
  const wanted = ["old", "again", "young"].map(
    async (id) => (await readMarker(world.client, id))?.value.want,
  );
  expect(await Promise.all(wanted)).toEqual(["delete", "run", undefined]);
});

test("what belongs to no run goes once it is old; what has a state, a result or a marker stays", async () => {
  const world = await clientWorld();
  const { storage, client } = world;
  const kept = await ended(world, "kept");
  const lost = await ended(world, "lost");
  const open = await submit(client, { calculation: "sum", params: { to: 100 }, id: "open" });
  await submit(client, { calculation: "sum", params: { to: 100 }, id: "broken" });
  storage.operator.deleteBlob(names.active, "broken");
  storage.operator.deleteBlob(names.runs, specBlob("lost"));
  const late = runBlobs("kept", "gone").part(0, 1);
  const own = [kept, open].map(({ run, uid }) => runBlobs(run, uid).part(0, 1));
  for (const name of [late, ...own, "_dropped/ff", "not-ours"])
    await storage.blobs.create(names.runs, name, "");
  await storage.blobs.create(names.results, resultBlobs("kept", "gone").result(1, "1-1-a", "json"), "");
  await world.world.advance(monthMs - 1_000);
  await storage.blobs.create(names.runs, runBlobs("kept", "young").part(0, 1), "");
  await world.world.advance(3_000);
  const before = storage.operator.blobNames(names.runs);
  expect(await prune(client, monthMs, true)).toEqual({ runs: ["kept", "lost", "broken"], blobs: 3 });
  expect(storage.operator.blobNames(names.runs)).toEqual(before);
  expect(await prune(client, monthMs)).toMatchObject({ blobs: 3 });
  // A leader deletes what its marker names.
  expect((await readMarker(client, "broken"))?.value.want).toBe("delete");
  const gone = [late, "_dropped/ff"];
  expect(storage.operator.blobNames(names.runs)).toEqual(before.filter((name) => !gone.includes(name)));
  expect(storage.operator.blobNames(names.results)).toEqual(
    [kept, lost].flatMap(({ run, uid }) => {
      const blobs = resultBlobs(run, uid);
      return [blobs.result(1, "1-1-abcdefgh", "json"), blobs.manifest(1)].toSorted();
    }),
  );
});
