import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { noCalls, subtractCalls } from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { type Account, freshContainer, freshName, type OpenAccount, refusal } from "./accounts.ts";

/** Removing many blobs at once. */
export function removalContract(open: OpenAccount): void {
  it("removes nothing for no names, without a call", async () => {
    const { storage } = open();
    await storage.blobs.removeMany(freshName(), []);
    expect(storage.meter.counts()).toEqual(noCalls);
  });

  it("removes one blob and leaves its neighbors", async () => {
    const { blobs, container } = await filled(open(), ["a", "a/1", "a/2", "b"]);
    await blobs.removeMany(container, ["a/1"]);
    expect(await namesIn(blobs, container)).toEqual(["a", "a/2", "b"]);
  });

  it.each([300, 600])("removes %i blobs of more, some of them gone already", async (count) => {
    const names = Array.from({ length: count }, (_, index) => `p/${String(index).padStart(4, "0")}`);
    const stored = names.filter((_, index) => index % 7 !== 3);
    const { blobs, container } = await filled(open(), [...stored, "p", "q/1"]);
    await blobs.removeMany(container, names);
    expect(await namesIn(blobs, container)).toEqual(["p", "q/1"]);
    await blobs.removeMany(container, names);
  });

  it("removes blobs whose names a URL or a header must escape", async () => {
    const odd = [
      "a b",
      "a+b&c=d",
      "?q#f",
      "50%",
      "a%2Fb",
      "ä/ü",
      "日本",
      "😀",
      "q'\"<x>|(y)[z]{}",
      "--batch_1",
    ];
    const { blobs, container } = await filled(open(), [...odd, "a", "b", "a/b"]);
    await blobs.removeMany(container, odd);
    expect(await namesIn(blobs, container)).toEqual(["a", "a/b", "b"]);
  });

  it("removes every other blob where one is leased, and then says so", async () => {
    const account = open();
    const names = Array.from({ length: 100 }, (_, index) => `n/${index}`);
    const { blobs, container } = await filled(account, names);
    await account.storage.lease(container, "n/50").acquire(randomUUID(), 15);
    await expect(blobs.removeMany(container, names)).rejects.toEqual(refusal("LeaseIdMissing", 412));
    expect(await namesIn(blobs, container)).toEqual(["n/50"]);
  });

  it("takes a missing container for an error", async () => {
    const { blobs } = open().storage;
    const removed = blobs.removeMany(freshName(), ["a", "b"]);
    await expect(removed).rejects.toEqual(refusal("ContainerNotFound", 404));
  });

  it("removes nothing under a signal that has fired", async () => {
    const { blobs, container } = await filled(open(), ["a", "b"]);
    const removed = blobs.removeMany(container, ["a", "b"], { signal: AbortSignal.abort() });
    await expect(removed).rejects.toMatchObject({ name: "AbortError" });
    expect(await namesIn(blobs, container)).toEqual(["a", "b"]);
  });

  it("counts each blob as a delete, gone or not, and each batch as other", async () => {
    const account = open();
    const { blobs, container, meter } = await filled(account, ["a"]);
    const before = meter.counts();
    const names = Array.from({ length: limits.blobBatchMax + 1 }, (_, index) => `n/${index}`);
    await blobs.removeMany(container, names);
    await blobs.removeMany(container, ["a"]);
    const counted = subtractCalls(meter.counts(), before);
    expect(counted).toEqual({ ...noCalls, delete: limits.blobBatchMax + 2, other: 3 });
  });
}

async function filled(account: Account, names: readonly string[]) {
  const { blobs, meter } = account.storage;
  const container = await freshContainer(account);
  await Promise.all(names.map((name) => blobs.create(container, name, "")));
  return { blobs, meter, container };
}

const namesIn = async (blobs: BlobStore, container: string): Promise<readonly string[]> =>
  (await blobs.list(container, "")).blobs.map(({ name }) => name);
