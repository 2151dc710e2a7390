import { expect, test } from "vitest";
import { ensureContainersAndQueues } from "../../src/engine/client/containersAndQueues.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";
import { clientWorld, names } from "./clientWorld.ts";

const refusing = (storage: Storage, kind: "denied" | "busy"): Storage => ({
  ...storage,
  blobs: {
    ...storage.blobs,
    ensureContainer: (container) =>
      container === names.runs
        ? Promise.reject(new StorageError(kind, "", 403, "no"))
        : storage.blobs.ensureContainer(container),
  },
});

test("an identity that may not create one container creates the others without an error", async () => {
  const { storage } = await clientWorld({ places: false });
  await ensureContainersAndQueues({ storage: refusing(storage, "denied"), names });
  await expect(storage.blobs.list(names.runs, "")).rejects.toMatchObject({
    storageCode: "ContainerNotFound",
  });
  expect((await storage.blobs.list(names.results, "")).blobs).toEqual([]);
  expect(await storage.queues.stats(names.wake)).toMatchObject({ kind: "found" });
});

test("an unavailable storage is reported while containers are created", async () => {
  const { storage } = await clientWorld({ places: false });
  await expect(
    ensureContainersAndQueues({ storage: refusing(storage, "busy"), names }),
  ).rejects.toMatchObject({
    kind: "busy",
  });
});
