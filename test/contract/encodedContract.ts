import { gzipSync } from "node:zlib";
import { BlobServiceClient } from "@azure/storage-blob";
import { expect, it } from "vitest";
import { blobFiles } from "../../src/engine/worker/blobFiles.ts";
import { bytesOf, freshContainer, ofKind, realAccount } from "./accounts.ts";

/**
 * A blob may claim a Content-Encoding, as tools that upload `.gz` for browsers set it. Nothing on the way may undo it:
 * a range of a compressed body is no compressed body, and the length and hash of a file are those of what is stored.
 */
export function encodedContract(connectionString: () => string): void {
  it("streams and reads a blob that claims to be gzip as the bytes that are stored", async () => {
    const { blobs, container } = await encoded(connectionString());
    expect(Buffer.compare(ofKind(await blobs.read(container, "a.csv"), "found").body, body)).toBe(0);
    const part = ofKind(await blobs.stream(container, "a.csv", { offset: 100, count: 5_000 }), "found");
    expect(Buffer.compare(await bytesOf(part.body), body.subarray(100, 5_100))).toBe(0);
  });

  it("gives a calculation the stored bytes of such a blob", async () => {
    const { blobs, container } = await encoded(connectionString());
    const files = blobFiles(blobs);
    const [fact = expect.fail("nothing was listed")] = (await files.list(container, undefined)).files;
    expect(fact).toMatchObject({ bytes: body.length });
    expect(Buffer.compare(await files.read(fact, 0, body.length), body)).toBe(0);
    expect(Buffer.compare(await files.read(fact, 7, 1_007), body.subarray(7, 1_007))).toBe(0);
  });

  it("does not read a blob that was deleted and put back, even with the same content", async () => {
    const { blobs, container } = await encoded(connectionString());
    const files = blobFiles(blobs);
    const [fact = expect.fail("nothing was listed")] = (await files.list(container, undefined)).files;
    await blobs.remove(container, "a.csv");
    await expect(files.read(fact, 0, 10)).rejects.toMatchObject({ code: "file-missing" });
    await blobs.create(container, "a.csv", body);
    await expect(files.read(fact, 0, 10)).rejects.toMatchObject({ code: "file-changed" });
  });
}

const body = gzipSync(Buffer.from("id,price\n1,2.5\n".repeat(2_000)), { level: 0 });

async function encoded(connectionString: string) {
  const account = realAccount(connectionString);
  const container = await freshContainer(account);
  const blob = BlobServiceClient.fromConnectionString(connectionString)
    .getContainerClient(container)
    .getBlockBlobClient("a.csv");
  await blob.upload(body, body.length, { blobHTTPHeaders: { blobContentEncoding: "gzip" } });
  // The emulator does send the claim; without it this would test nothing.
  expect((await blob.download(0, 10)).contentEncoding).toBe("gzip");
  return { blobs: account.storage.blobs, container };
}
