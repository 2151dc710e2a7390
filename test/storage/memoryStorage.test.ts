import { describe, expect, it } from "vitest";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { freshContainer, freshQueue, memoryAccount, ofKind, refusal, textOf } from "../contract/accounts.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** Where in-memory storage follows the documents and Azurite does not, and what only in-memory storage can do. */
const alice = "11111111-1111-4111-8111-111111111111";
const bob = "22222222-2222-4222-8222-222222222222";

function given() {
  const world = virtualWorld();
  return { world, storage: memoryStorage({ clock: world.clock(), random: world.random }) };
}

describe("in-memory storage", () => {
  it("lets only the id that held it renew an expired lease", async () => {
    const { storage, world } = given();
    const lease = storage.lease("coordination", "leader");
    await lease.ensure();
    await lease.acquire(alice, 15);
    await world.advance(15_000);
    await expect(lease.renew(bob)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await lease.renew(alice);
  });

  it("ends a lease at its exact millisecond, though it reports whole seconds", async () => {
    const { storage, world } = given();
    const lease = storage.lease("coordination", "leader");
    await world.advance(700);
    await lease.ensure();
    await lease.acquire(alice, 15);
    await world.advance(14_999);
    const held = ofKind(await lease.view(), "found");
    expect(held.leaseState).toBe("leased");
    expect([held.dateMs % 1000, held.lastModifiedMs % 1000]).toEqual([0, 0]);
    await world.advance(1);
    expect(await lease.view()).toMatchObject({ leaseState: "expired" });
  });

  it("accepts 8 KB of metadata, names included, and no more", async () => {
    const account = memoryAccount();
    const container = await freshContainer(account);
    const { blobs } = account.storage;
    const value = "x".repeat(8192 - 3);
    await blobs.create(container, "fits", "", { metadata: { key: value } });
    const more = blobs.create(container, "more", "", { metadata: { key: `${value}x` } });
    await expect(more).rejects.toEqual(refusal("MetadataTooLarge", 400));
  });

  it("refuses metadata that a header cannot carry", async () => {
    const account = memoryAccount();
    const container = await freshContainer(account);
    for (const value of ["é", "a\nb", " a", "a "]) {
      const created = account.storage.blobs.create(container, "b", "", { metadata: { value } });
      await expect(created).rejects.toEqual(refusal("InvalidMetadata", 400));
    }
  });

  it("refuses a lease id that is not a GUID", async () => {
    const { storage } = given();
    const lease = storage.lease("coordination", "leader");
    await lease.ensure();
    await expect(lease.acquire("alice", 15)).rejects.toEqual(refusal("InvalidHeaderValue", 400));
  });

  it("refuses a range that begins at the end", async () => {
    const account = memoryAccount();
    const container = await freshContainer(account);
    await account.storage.blobs.create(container, "b", "12345");
    const beyond = account.storage.blobs.stream(container, "b", { offset: 5 });
    await expect(beyond).rejects.toEqual(refusal("InvalidRange", 416));
  });

  it("refuses a message that XML cannot carry, and fractions of a second", async () => {
    const account = memoryAccount();
    const queue = await freshQueue(account);
    const { queues } = account.storage;
    await expect(queues.send(queue, "a\u0001b")).rejects.toEqual(refusal("InvalidXmlDocument", 400));
    const fraction = queues.send(queue, "x", { visibleInS: 0.5 });
    await expect(fraction).rejects.toEqual(refusal("InvalidQueryParameterValue", 400));
  });

  it("delivers messages in the order in which they became visible", async () => {
    const { storage, world } = given();
    const { queues } = storage;
    await queues.ensureQueue("packs");
    await queues.send("packs", "late", { visibleInS: 5 });
    for (const text of ["1", "2", "3"]) await queues.send("packs", text);
    await world.advance(5000);
    await queues.send("packs", "last");
    const received = await queues.receive("packs", { max: 32, visibilityS: 30 });
    expect(received.map(({ text }) => text)).toEqual(["1", "2", "3", "late", "last"]);
  });

  it("keeps a copy of what it is given and gives copies away", async () => {
    const account = memoryAccount();
    const container = await freshContainer(account);
    const { blobs } = account.storage;
    const body = new Uint8Array([1, 2, 3]);
    await blobs.create(container, "b", body);
    body[0] = 9;
    const read = ofKind(await blobs.read(container, "b"), "found");
    read.body[1] = 9;
    expect(ofKind(await blobs.read(container, "b"), "found").body).toEqual(new Uint8Array([1, 2, 3]));
  });

  it("lets an operator do what a storage browser can, uncounted", async () => {
    const { storage } = given();
    const { operator, blobs, queues } = storage;
    const lease = storage.lease("coordination", "leader");
    await lease.ensure();
    await lease.acquire(alice, 60);
    await queues.ensureQueue("packs");
    await blobs.create("coordination", "other", "a", { contentType: "text/csv" });
    const before = storage.meter.counts();
    operator.breakLease("coordination", "leader", 30);
    operator.overwriteBlob("coordination", "other", "b");
    expect(operator.blobNames("coordination")).toEqual(["leader", "other"]);
    operator.deleteQueue("packs");
    expect(storage.meter.counts()).toEqual(before);
    expect(await lease.view()).toMatchObject({ leaseState: "breaking" });
    const other = ofKind(await blobs.read("coordination", "other"), "found");
    expect([textOf(other.body), other.properties.contentType]).toEqual(["b", "text/csv"]);
    operator.deleteBlob("coordination", "leader");
    expect(await lease.view()).toEqual({ kind: "missing" });
    operator.deleteContainer("coordination");
    await expect(blobs.list("coordination", "")).rejects.toEqual(refusal("ContainerNotFound", 404));
  });
});
