import { expect, it } from "vitest";
import { limits } from "../../src/engine/model/limits.ts";
import { bytesOf, freshContainer, freshName, type OpenAccount, ofKind, refusal, textOf } from "./accounts.ts";

export function blobContract(open: OpenAccount): void {
  it("makes a container once", async () => {
    const { storage } = open();
    const container = freshName();
    expect(await storage.blobs.ensureContainer(container)).toBe("created");
    expect(await storage.blobs.ensureContainer(container)).toBe("existed");
  });

  it("lets the first writer win and keeps what it wrote", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const write = { contentType: "text/csv", metadata: { pack: "7" } };
    const first = ofKind(await blobs.create(container, "a/b", "first", write), "created");
    expect(await blobs.create(container, "a/b", "second")).toEqual({ kind: "existed" });
    const read = ofKind(await blobs.read(container, "a/b"), "found");
    expect(textOf(read.body)).toBe("first");
    expect(read.properties).toEqual({
      etag: first.etag,
      lastModifiedMs: expect.any(Number),
      bytes: 5,
      contentType: "text/csv",
      metadata: { pack: "7" },
    });
  });

  it("does not read whole what is larger than any document, and streams it", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const piece = new Uint8Array(4 * 1024 * 1024);
    async function* body() {
      for (let sent = 0; sent <= limits.documentBytesMax; sent += piece.length) yield piece;
    }
    await blobs.upload(container, "large", body());
    await expect(blobs.read(container, "large")).rejects.toMatchObject({ code: "too-large" });
    const found = ofKind(await blobs.stream(container, "large"), "found");
    for await (const _ of found.body) break;
    expect(found.properties.bytes).toBeGreaterThan(limits.documentBytesMax);
  });

  it("has exactly one winner among twenty creators at once", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const tries = Array.from({ length: 20 }, (_, index) => blobs.create(container, "race", `${index}`));
    const outcomes = await Promise.all(tries);
    const winners = outcomes.flatMap((outcome, index) => (outcome.kind === "created" ? [`${index}`] : []));
    const read = ofKind(await blobs.read(container, "race"), "found");
    expect(winners).toEqual([textOf(read.body)]);
  });

  it("keeps bytes as they are, none at all included", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
    await blobs.create(container, "bytes", bytes);
    await blobs.create(container, "none", "");
    expect(ofKind(await blobs.read(container, "bytes"), "found").body).toEqual(bytes);
    const none = ofKind(await blobs.read(container, "none"), "found");
    expect([none.body, none.properties.bytes]).toEqual([new Uint8Array(), 0]);
  });

  it("replaces only over the ETag it was given", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const { etag } = ofKind(await blobs.create(container, "state", "1"), "created");
    const second = ofKind(await blobs.replace(container, "state", "2", { ifMatch: etag }), "replaced");
    expect(second.etag).not.toBe(etag);
    expect(await blobs.replace(container, "state", "3", { ifMatch: etag })).toEqual({ kind: "conflict" });
    expect(await blobs.replace(container, "absent", "3", { ifMatch: etag })).toEqual({ kind: "conflict" });
    expect(textOf(ofKind(await blobs.read(container, "state"), "found").body)).toBe("2");
    expect(await blobs.read(container, "absent")).toEqual({ kind: "missing" });
  });

  it("lets one of many writers with the same ETag replace", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const { etag } = ofKind(await blobs.create(container, "state", "1"), "created");
    const tries = Array.from({ length: 10 }, () => blobs.replace(container, "state", "2", { ifMatch: etag }));
    const kinds = (await Promise.all(tries)).map((outcome) => outcome.kind);
    expect(kinds.filter((kind) => kind === "replaced")).toHaveLength(1);
  });

  it("replaces metadata as a whole, moves the ETag, and keeps content and type", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const write = { contentType: "text/csv", metadata: { one: "1", two: "2" } };
    const { etag } = ofKind(await blobs.create(container, "m", "body", write), "created");
    const set = ofKind(
      await blobs.setMetadata(container, "m", { Three: "3" }, { ifMatch: etag }),
      "replaced",
    );
    expect(set.etag).not.toBe(etag);
    const { properties, body } = ofKind(await blobs.read(container, "m"), "found");
    expect(properties).toMatchObject({ etag: set.etag, contentType: "text/csv", metadata: { three: "3" } });
    expect(textOf(body)).toBe("body");
    const stale = { ifMatch: etag };
    expect(await blobs.setMetadata(container, "m", {}, stale)).toEqual({ kind: "conflict" });
    expect(await blobs.setMetadata(container, "absent", {}, stale)).toEqual({ kind: "conflict" });
  });

  it("shows the properties without the content", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    await blobs.create(container, "h", "body", { metadata: { k: "v" } });
    const head = ofKind(await blobs.head(container, "h"), "found");
    const read = ofKind(await blobs.read(container, "h"), "found");
    expect(head.properties).toEqual(read.properties);
    expect(head.properties).toMatchObject({ bytes: 4, contentType: "application/octet-stream" });
    expect(await blobs.head(container, "absent")).toEqual({ kind: "missing" });
  });

  it("streams a body, a part of it, and only the version asked for", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    const { etag } = ofKind(await blobs.create(container, "s", bytes), "created");
    const whole = ofKind(await blobs.stream(container, "s"), "found");
    expect(await bytesOf(whole.body)).toEqual(bytes);
    const part = ofKind(
      await blobs.stream(container, "s", { offset: 1000, count: 70_000, ifMatch: etag }),
      "found",
    );
    expect(part.properties).toMatchObject({ bytes: 300_000, etag });
    expect(await bytesOf(part.body)).toEqual(bytes.slice(1000, 71_000));
    const tail = ofKind(await blobs.stream(container, "s", { offset: 299_990, count: 500 }), "found");
    expect(await bytesOf(tail.body)).toEqual(bytes.slice(299_990));
    expect(await blobs.stream(container, "s", { ifMatch: "0xBAD" })).toEqual({ kind: "conflict" });
    expect(await blobs.stream(container, "absent")).toEqual({ kind: "missing" });
    const beyond = blobs.stream(container, "s", { offset: 300_001 });
    await expect(beyond).rejects.toEqual(refusal("InvalidRange", 416));
  });

  it("lets a reader leave a stream early", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    await blobs.create(container, "s", new Uint8Array(2_000_000));
    const { body } = ofKind(await blobs.stream(container, "s"), "found");
    for await (const piece of body) {
      expect(piece.byteLength).toBeGreaterThan(0);
      break;
    }
  });

  it("removes a blob, and only in the version asked for", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const { etag } = ofKind(await blobs.create(container, "r", "body"), "created");
    expect(await blobs.remove(container, "r", { ifMatch: "0xBAD" })).toBe("conflict");
    expect(await blobs.remove(container, "r", { ifMatch: etag })).toBe("removed");
    expect(["missing", "conflict"]).toContain(await blobs.remove(container, "r", { ifMatch: etag }));
    expect(await blobs.remove(container, "r")).toBe("missing");
    expect(await blobs.create(container, "r", "again")).toMatchObject({ kind: "created" });
    expect(await blobs.remove(container, "r")).toBe("removed");
  });

  it("takes a missing container for an error in every call, never for a missing blob", async () => {
    const { blobs } = open().storage;
    const absent = freshName();
    const ifMatch = "0xBAD";
    const calls = [
      blobs.create(absent, "b", ""),
      blobs.replace(absent, "b", "", { ifMatch }),
      blobs.read(absent, "b"),
      blobs.stream(absent, "b"),
      blobs.head(absent, "b"),
      blobs.setMetadata(absent, "b", {}, { ifMatch }),
      blobs.list(absent, ""),
      blobs.remove(absent, "b"),
    ];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: "rejected", reason: refusal("ContainerNotFound", 404) });
    }
  });

  it("gives the service's time in whole seconds", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const created = ofKind(await blobs.create(container, "t", ""), "created");
    const head = ofKind(await blobs.head(container, "t"), "found");
    const { blobs: listed, dateMs } = await blobs.list(container, "");
    const times = [created.dateMs, head.dateMs, head.properties.lastModifiedMs, dateMs];
    for (const time of times) expect(time % 1000).toBe(0);
    expect(listed[0]?.lastModifiedMs).toBe(head.properties.lastModifiedMs);
    expect(head.dateMs).toBeGreaterThanOrEqual(head.properties.lastModifiedMs);
  });

  it("ends a call whose signal has fired with an AbortError and without effect", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const aborted = { signal: AbortSignal.abort() };
    await expect(blobs.create(container, "a", "", aborted)).rejects.toMatchObject({ name: "AbortError" });
    expect(await blobs.read(container, "a")).toEqual({ kind: "missing" });
  });

  it("refuses names and metadata keys that the service does not allow", async () => {
    const account = open();
    const { blobs } = account.storage;
    await expect(blobs.ensureContainer("no_good")).rejects.toEqual(refusal("InvalidResourceName", 400));
    await expect(blobs.ensureContainer("ab")).rejects.toEqual(refusal("OutOfRangeInput", 400));
    const container = await freshContainer(account);
    const dashed = blobs.create(container, "k", "", { metadata: { "a-b": "x" } });
    await expect(dashed).rejects.toEqual(refusal("InvalidMetadata", 400));
  });
}
