import { expect, test } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { createOnDemand } from "../../src/engine/storage/createOnDemand.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const places = { containers: ["runs", "results"], queues: ["packs"] };

function emptyAccount() {
  const world = virtualWorld();
  const near = memoryStorage({ clock: world.clock(), random: world.random });
  return { near, storage: createOnDemand(near, places) };
}

test("the first call that misses a container or queue creates it", async () => {
  const calls = [
    ({ blobs }: typeof storage) => blobs.head("runs", "x"),
    ({ blobs }: typeof storage) => blobs.read("runs", "x"),
    ({ blobs }: typeof storage) => blobs.list("runs", ""),
    ({ blobs }: typeof storage) => blobs.create("runs", "x", ""),
    ({ queues }: typeof storage) => queues.send("packs", "{}"),
  ];
  const { storage } = emptyAccount();
  for (const call of calls) await call(emptyAccount().storage);
  expect(await storage.blobs.head("runs", "x")).toEqual({ kind: "missing" });
});

test("where everything is there, no call is made for it", async () => {
  const { near, storage } = emptyAccount();
  await near.blobs.ensureContainer("runs");
  const before = near.meter.counts();
  await storage.blobs.head("runs", "x");
  expect(near.meter.counts()).toEqual({ ...before, other: before.other + 1 });
});

test("calls that miss a container at the same time create it once", async () => {
  const { near, storage } = emptyAccount();
  const { ensureContainer } = near.blobs;
  let made = 0;
  near.blobs.ensureContainer = async (container) => {
    made += 1;
    return ensureContainer(container);
  };
  const counted = createOnDemand(near, places);
  await Promise.all(["a", "b", "c"].map((name) => counted.blobs.create("runs", name, "")));
  expect(made).toBe(1);
  expect((await storage.blobs.list("runs", "")).blobs).toHaveLength(3);
});

test("a container of somebody else is not made", async () => {
  const { storage } = emptyAccount();
  await expect(storage.blobs.head("theirs", "x")).rejects.toMatchObject({ storageCode: "ContainerNotFound" });
});

test("an identity that may not make a container is told which one is missing", async () => {
  const { near } = emptyAccount();
  near.blobs.ensureContainer = () =>
    Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "no"));
  const denied = createOnDemand(near, places);
  await expect(denied.blobs.create("runs", "x", "")).rejects.toMatchObject({
    storageCode: "ContainerNotFound",
  });
});
