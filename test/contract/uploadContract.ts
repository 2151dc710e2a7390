import { expect, it } from "vitest";
import { noCalls } from "../../src/engine/model/calls.ts";
import { uploadBlockBytes } from "../../src/engine/storage/uploadBlocks.ts";
import { freshContainer, freshName, type OpenAccount, ofKind, refusal } from "./accounts.ts";

/** Bodies of any size, written as they come. */
export function uploadContract(open: OpenAccount): void {
  it.each([
    ["no bytes", 0, 1],
    ["less than a block", 1_000_003, 1],
    ["exactly one block", uploadBlockBytes, 1],
    ["one block and a byte", uploadBlockBytes + 1, 3],
    ["three blocks and a part", 3 * uploadBlockBytes + 77, 5],
  ])("writes a body of %s, in any pieces, for the promised calls", async (_, bytes, writes) => {
    const account = open();
    const { blobs, meter } = account.storage;
    const container = await freshContainer(account);
    const before = meter.counts().write;
    const body = patterned(bytes);
    const write = { contentType: "text/csv", metadata: () => ({ bytes: String(bytes) }) };
    const created = ofKind(await blobs.upload(container, "u/a b", piecesOf(body), write), "created");
    expect(meter.counts()).toEqual({ ...noCalls, write: before + writes });
    const read = ofKind(await blobs.read(container, "u/a b"), "found");
    expect(Buffer.compare(read.body, body)).toBe(0);
    expect(read.properties).toMatchObject({
      ...{ etag: created.etag, bytes, contentType: "text/csv" },
      metadata: { bytes: String(bytes) },
    });
  });

  it.each([10, uploadBlockBytes + 10])("creates or replaces %i bytes as it was told", async (bytes) => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const upload = (body: Uint8Array, ifMatch?: string) =>
      blobs.upload(container, "u", piecesOf(body), { ifMatch });
    const { etag } = ofKind(await upload(patterned(bytes)), "created");
    expect(await upload(patterned(bytes + 1))).toEqual({ kind: "existed" });
    const second = ofKind(await upload(patterned(bytes + 2), etag), "replaced");
    expect(second.etag).not.toBe(etag);
    expect(await upload(patterned(bytes + 3), etag)).toEqual({ kind: "conflict" });
    expect(ofKind(await blobs.head(container, "u"), "found").properties.bytes).toBe(bytes + 2);
    const absent = blobs.upload(container, "absent", piecesOf(patterned(bytes)), { ifMatch: etag });
    expect(await absent).toEqual({ kind: "conflict" });
  });

  it.each([0, uploadBlockBytes * 2])("leaves nothing of a body that throws after %i bytes", async (bytes) => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const broken = new Error("the disk is gone");
    async function* body() {
      yield* piecesOf(patterned(bytes));
      throw broken;
    }
    await expect(blobs.upload(container, "u", body())).rejects.toBe(broken);
    expect(await blobs.head(container, "u")).toEqual({ kind: "missing" });
    expect((await blobs.list(container, "")).blobs).toEqual([]);
  });

  it("keeps two uploads of one name apart: one of them wins, whole", async () => {
    const account = open();
    const { blobs } = account.storage;
    const container = await freshContainer(account);
    const bodies = ["a", "b"].map((letter) => Buffer.alloc(uploadBlockBytes * 2 + 5, letter));
    const kinds = (await Promise.all(bodies.map((body) => blobs.upload(container, "u", piecesOf(body))))).map(
      ({ kind }) => kind,
    );
    expect(kinds.toSorted()).toEqual(["created", "existed"]);
    const read = ofKind(await blobs.read(container, "u"), "found");
    expect(Buffer.compare(read.body, bodies[kinds.indexOf("created")] as Buffer)).toBe(0);
  });

  it("takes a missing container for an error, and ends with the signal", async () => {
    const account = open();
    const { blobs } = account.storage;
    const body = patterned(uploadBlockBytes + 1);
    for (const bytes of [body.subarray(0, 9), body]) {
      await expect(blobs.upload(freshName(), "u", piecesOf(bytes))).rejects.toEqual(
        refusal("ContainerNotFound", 404),
      );
      const container = await freshContainer(account);
      const aborted = blobs.upload(container, "u", piecesOf(bytes), { signal: AbortSignal.abort() });
      await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
      expect(await blobs.head(container, "u")).toEqual({ kind: "missing" });
    }
  });
}

/** Bytes whose place shows. */
function patterned(bytes: number): Uint8Array {
  const body = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 1) body[at] = (at * 7 + (at >>> 12)) & 255;
  return body;
}

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += 700_001) yield body.subarray(at, at + 700_001);
}
