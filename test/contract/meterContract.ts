import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { noCalls } from "../../src/engine/model/calls.ts";
import { freshName, type OpenAccount, ofKind } from "./accounts.ts";

export function meterContract(open: OpenAccount): void {
  it("counts every blob call in the class it is billed in, whatever its outcome", async () => {
    const { storage } = open();
    const { blobs, meter } = storage;
    const container = freshName();
    await blobs.ensureContainer(container);
    await blobs.ensureContainer(container);
    const { etag } = ofKind(await blobs.create(container, "b", "1"), "created");
    await blobs.create(container, "b", "1");
    await blobs.replace(container, "b", "2", { ifMatch: etag });
    await blobs.replace(container, "b", "2", { ifMatch: etag });
    expect(meter.counts()).toEqual({ ...noCalls, write: 6 });
    await blobs.read(container, "b");
    await blobs.read(container, "absent");
    const streamed = ofKind(await blobs.stream(container, "b"), "found");
    for await (const _ of streamed.body);
    await blobs.head(container, "b");
    await blobs.head(container, "absent");
    await blobs.setMetadata(container, "b", {}, { ifMatch: etag });
    await blobs.list(container, "");
    await blobs.list(container, "", { metadata: true });
    await blobs.remove(container, "absent");
    await blobs.remove(container, "b");
    expect(meter.counts()).toEqual({ write: 6, list: 2, read: 3, other: 3, queue: 0, delete: 2 });
  });

  // Lease calls are never retried by the SDK, and the emulator may close a connection that idled for five seconds.
  it("counts lease calls as other, except for making the blob", { retry: 2 }, async () => {
    const { storage } = open();
    const { meter } = storage;
    const lease = storage.lease(freshName(), "leader");
    const id = randomUUID();
    await lease.view();
    await lease.ensure();
    expect(meter.counts()).toEqual({ ...noCalls, write: 3, other: 1 });
    await lease.ensure();
    await lease.acquire(id, 15);
    await lease.acquire(randomUUID(), 15).catch(() => {});
    await lease.renew(id);
    await lease.writeRecord(id, { term: "1" });
    await lease.breakNow();
    await lease.release(id);
    await lease.view();
    expect(meter.counts()).toEqual({ ...noCalls, write: 4, other: 8 });
  });

  it("counts every queue call as queue", async () => {
    const { storage } = open();
    const { queues, meter } = storage;
    const queue = freshName();
    await queues.receive(queue, { max: 1, visibilityS: 1 });
    await queues.ensureQueue(queue);
    const sent = await queues.send(queue, "x");
    await queues.peek(queue, 1);
    await queues.stats(queue);
    const updated = ofKind(
      await queues.update(queue, sent.id, sent.popReceipt, { visibleInS: 0 }),
      "updated",
    );
    await queues.receive(queue, { max: 1, visibilityS: 30 });
    await queues.remove(queue, sent.id, updated.popReceipt);
    expect(meter.counts()).toEqual({ ...noCalls, queue: 8 });
  });

  it("does not count a call that was canceled before it was made", async () => {
    const { storage } = open();
    await storage.blobs.list(freshName(), "", { signal: AbortSignal.abort() }).catch(() => {});
    expect(storage.meter.counts()).toEqual(noCalls);
  });
}
