import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { LeaseStore, LeaseView } from "../../src/engine/storage/ports.ts";
import {
  type Account,
  freshContainer,
  freshName,
  type OpenAccount,
  ofKind,
  refusal,
  textOf,
} from "./accounts.ts";

const alice = randomUUID();
const bob = randomUUID();

/** A lease blob that is there, and the blob port on the same blob. */
async function freshLease(account: Account) {
  const container = freshName();
  const lease = account.storage.lease(container, "leader");
  await lease.ensure();
  return { lease, container, blobs: account.storage.blobs };
}

const viewOf = async (lease: LeaseStore): Promise<LeaseView> => ofKind(await lease.view(), "found");
const stateOf = async (lease: LeaseStore) => (await viewOf(lease)).leaseState;

export function leaseContract(open: OpenAccount): void {
  // First, so that the seconds of the real service pass once for all of them.
  it.concurrent("lets a lease run out, another take it, and the old holder write no more", async () => {
    const account = open();
    const { lease } = await freshLease(account);
    await lease.acquire(alice, 15);
    await account.wait(13_000);
    expect(await stateOf(lease)).toBe("leased");
    await account.wait(3000);
    expect(await stateOf(lease)).toBe("expired");
    await expect(lease.writeRecord(alice, {})).rejects.toEqual(
      refusal("LeaseNotPresentWithBlobOperation", 412),
    );
    await lease.acquire(bob, 15);
    expect(await stateOf(lease)).toBe("leased");
    await expect(lease.writeRecord(alice, {})).rejects.toEqual(
      refusal("LeaseIdMismatchWithBlobOperation", 412),
    );
    await expect(lease.acquire(alice, 15)).rejects.toEqual(refusal("LeaseAlreadyPresent", 409));
  });

  it.concurrent("lets the same id renew an expired lease", async () => {
    const account = open();
    const { lease } = await freshLease(account);
    await lease.acquire(alice, 15);
    await account.wait(16_000);
    await lease.renew(alice);
    expect(await stateOf(lease)).toBe("leased");
    await lease.writeRecord(alice, { heartbeat: "1" });
  });

  it.concurrent("lets nobody renew an expired lease after a write, which needs no id then", async () => {
    const account = open();
    const { lease, container, blobs } = await freshLease(account);
    await lease.acquire(alice, 15);
    await account.wait(16_000);
    const { etag } = await viewOf(lease);
    const written = await blobs.setMetadata(container, "leader", { by: "another" }, { ifMatch: etag });
    expect(written).toMatchObject({ kind: "replaced" });
    expect(await stateOf(lease)).toBe("available");
    await expect(lease.renew(alice)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
  });

  it.concurrent("starts the lease anew with each renewal", async () => {
    const account = open();
    const { lease } = await freshLease(account);
    await lease.acquire(alice, 15);
    await account.wait(8000);
    await lease.renew(alice);
    await account.wait(8000);
    expect(await stateOf(lease)).toBe("leased");
  });

  it("is missing until it is made, and making it again changes nothing", async () => {
    const account = open();
    const absent = account.storage.lease(freshName(), "leader");
    expect(await absent.view()).toEqual({ kind: "missing" });
    const lease = account.storage.lease(await freshContainer(account), "leader");
    expect(await lease.view()).toEqual({ kind: "missing" });
    await lease.ensure();
    const first = await viewOf(lease);
    expect(first).toMatchObject({ leaseState: "available", metadata: {} });
    await lease.acquire(alice, 15);
    await lease.ensure();
    expect(await viewOf(lease)).toMatchObject({ etag: first.etag, leaseState: "leased" });
  });

  it("goes to one id at a time, and to the same id again", async () => {
    const { lease } = await freshLease(open());
    await lease.acquire(alice, 15);
    await lease.acquire(alice, 60);
    await expect(lease.acquire(bob, 15)).rejects.toEqual(refusal("LeaseAlreadyPresent", 409));
    await expect(lease.renew(bob)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await expect(lease.release(bob)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await lease.renew(alice);
    await lease.release(alice);
    expect(await stateOf(lease)).toBe("available");
    await expect(lease.renew(alice)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await expect(lease.release(alice)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await lease.acquire(bob, 15);
  });

  it("has exactly one winner among twenty challengers at once", async () => {
    const { lease } = await freshLease(open());
    const tries = Array.from({ length: 20 }, () => lease.acquire(randomUUID(), 15));
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("moves neither ETag nor date, but a write of the record moves the ETag", async () => {
    const { lease } = await freshLease(open());
    const { etag, lastModifiedMs } = await viewOf(lease);
    await lease.acquire(alice, 15);
    await lease.renew(alice);
    expect(await viewOf(lease)).toMatchObject({ etag, lastModifiedMs });
    const written = await lease.writeRecord(alice, { term: "1", holder: "aG9zdA" }, { ifMatch: etag });
    expect(written.etag).not.toBe(etag);
    const view = await viewOf(lease);
    expect(view).toMatchObject({ etag: written.etag, metadata: { term: "1", holder: "aG9zdA" } });
    await lease.breakNow({ ifMatch: written.etag });
    expect(await viewOf(lease)).toMatchObject({ etag: written.etag, leaseState: "broken" });
  });

  it("lets only its holder write, and needs no id for reading", async () => {
    const { lease, container, blobs } = await freshLease(open());
    await expect(lease.writeRecord(alice, {})).rejects.toEqual(
      refusal("LeaseNotPresentWithBlobOperation", 412),
    );
    await lease.acquire(alice, 15);
    await expect(lease.writeRecord(bob, {})).rejects.toEqual(
      refusal("LeaseIdMismatchWithBlobOperation", 412),
    );
    const { etag } = await lease.writeRecord(alice, { term: "1" });
    const without = [
      blobs.setMetadata(container, "leader", {}, { ifMatch: etag }),
      blobs.replace(container, "leader", "x", { ifMatch: etag }),
      blobs.remove(container, "leader"),
    ];
    for (const call of await Promise.allSettled(without)) {
      expect(call).toMatchObject({ status: "rejected", reason: refusal("LeaseIdMissing", 412) });
    }
    expect(await blobs.create(container, "leader", "")).toEqual({ kind: "existed" });
    expect(await blobs.read(container, "leader")).toMatchObject({ kind: "found" });
    expect((await blobs.list(container, "", { metadata: true })).blobs).toMatchObject([
      { metadata: { term: "1" } },
    ]);
  });

  it("obeys If-Match in acquiring, breaking and writing", async () => {
    const { lease } = await freshLease(open());
    const { etag: first } = await viewOf(lease);
    await lease.acquire(alice, 15, { ifMatch: first });
    const { etag: second } = await lease.writeRecord(alice, { heartbeat: "1" }, { ifMatch: first });
    const stale = { ifMatch: first };
    await expect(lease.writeRecord(alice, {}, stale)).rejects.toEqual(refusal("ConditionNotMet", 412));
    await expect(lease.breakNow(stale)).rejects.toEqual(refusal("ConditionNotMet", 412));
    await lease.breakNow({ ifMatch: second });
    await expect(lease.acquire(bob, 15, stale)).rejects.toEqual(refusal("ConditionNotMet", 412));
    await lease.acquire(bob, 15, { ifMatch: second });
  });

  it("ends at once when it is broken, and its old id can do nothing any more", async () => {
    const { lease } = await freshLease(open());
    await expect(lease.breakNow()).rejects.toEqual(refusal("LeaseNotPresentWithLeaseOperation", 409));
    await lease.acquire(alice, 15);
    await lease.breakNow();
    expect(await stateOf(lease)).toBe("broken");
    await lease.breakNow();
    await expect(lease.renew(alice)).rejects.toEqual(refusal("LeaseIsBrokenAndCannotBeRenewed", 409));
    await expect(lease.renew(bob)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await expect(lease.writeRecord(alice, {})).rejects.toEqual(
      refusal("LeaseNotPresentWithBlobOperation", 412),
    );
    await lease.acquire(bob, 15);
    await expect(lease.release(alice)).rejects.toEqual(refusal("LeaseIdMismatchWithLeaseOperation", 409));
    await lease.release(bob);
  });

  it("keeps content that only its holder replaces, together with the metadata and with If-Match", async () => {
    const { lease } = await freshLease(open());
    const { etag: empty } = await viewOf(lease);
    expect(ofKind(await lease.readContent(), "found").body).toHaveLength(0);
    await expect(lease.writeContent(alice, "x", { ifMatch: empty })).rejects.toEqual(
      refusal("LeaseNotPresentWithBlobOperation", 412),
    );
    await lease.acquire(alice, 15);
    const written = await lease.writeContent(alice, "first", { ifMatch: empty, metadata: { write: "1" } });
    const read = ofKind(await lease.readContent(), "found");
    expect(read).toMatchObject({ etag: written.etag, metadata: { write: "1" } });
    expect(textOf(read.body)).toBe("first");
    await expect(lease.writeContent(alice, "second", { ifMatch: empty })).rejects.toEqual(
      refusal("ConditionNotMet", 412),
    );
    await expect(lease.writeContent(bob, "second", { ifMatch: written.etag })).rejects.toEqual(
      refusal("LeaseIdMismatchWithBlobOperation", 412),
    );
    expect(await viewOf(lease)).toMatchObject({ etag: written.etag, leaseState: "leased" });
    await lease.breakNow();
    await expect(lease.writeContent(alice, "second", { ifMatch: written.etag })).rejects.toEqual(
      refusal("LeaseNotPresentWithBlobOperation", 412),
    );
  });

  it("has no content where there is no blob", async () => {
    const account = open();
    expect(await account.storage.lease(freshName(), "absent").readContent()).toEqual({ kind: "missing" });
    const absent = account.storage.lease(await freshContainer(account), "absent");
    expect(await absent.readContent()).toEqual({ kind: "missing" });
    await expect(absent.writeContent(alice, "x", { ifMatch: "0x8DE000000000001" })).rejects.toMatchObject({
      kind: "refused",
    });
  });

  it("can be released after a break", async () => {
    const { lease } = await freshLease(open());
    await lease.acquire(alice, 15);
    await lease.breakNow();
    await lease.release(alice);
    expect(await stateOf(lease)).toBe("available");
  });

  it("refuses what the service does not allow", async () => {
    const account = open();
    const { lease } = await freshLease(account);
    await expect(lease.acquire(alice, 14)).rejects.toEqual(refusal("InvalidHeaderValue", 400));
    await expect(lease.acquire(alice, 61)).rejects.toEqual(refusal("InvalidHeaderValue", 400));
    const absent = account.storage.lease(await freshContainer(account), "absent");
    await expect(absent.renew(alice)).rejects.toEqual(refusal("BlobNotFound", 404));
    const homeless = account.storage.lease(freshName(), "absent");
    await expect(homeless.renew(alice)).rejects.toEqual(refusal("ContainerNotFound", 404));
    const aborted = { signal: AbortSignal.abort() };
    await expect(lease.acquire(alice, 15, aborted)).rejects.toMatchObject({ name: "AbortError" });
    expect(await stateOf(lease)).toBe("available");
  });
}
