import { afterEach, describe, expect, it } from "vitest";
import { type FakeService, fail, fakeService } from "../support/fakeService.ts";

/** Answers to a batch of deletes that Azurite never gives; the real SDK against a server of ours. */
let service: FakeService;

afterEach(async () => {
  await service?.close();
});

/** Answers each batch with the next parts and lets every other request succeed. */
async function given(...batches: readonly (readonly string[])[]): Promise<FakeService> {
  const rest = batches.values();
  service = await fakeService((request, response) => {
    if (request.method !== "POST") return response.writeHead(202).end();
    response.writeHead(202, { "Content-Type": "multipart/mixed; boundary=b1" });
    return response.end(`${(rest.next().value ?? []).join("")}--b1--`);
  });
  return service;
}

/** The answer on one blob, by its place in the batch. */
function part(place: number | undefined, status: number, code?: string): string {
  const lines = [
    "--b1",
    "Content-Type: application/http",
    ...(place === undefined ? [] : [`Content-ID: ${place}`]),
    "",
    `HTTP/1.1 ${status} Said`,
    ...(code === undefined ? [] : [`x-ms-error-code: ${code}`]),
    "",
    "",
  ];
  return lines.join("\r\n");
}

/** What was asked for, each batch told as such. */
const asked = ({ requests }: FakeService): readonly string[] =>
  requests.map((one) => (/^POST .*[?&]comp=batch/.test(one) ? "batch" : one.replace(/[?].*/, ""))).toSorted();

describe("removing many blobs by batch", () => {
  it("tries a blob alone whose answer is that the service is busy", async () => {
    const { storage } = await given([
      part(0, 202),
      part(1, 503, "ServerBusy"),
      part(2, 404, "BlobNotFound"),
      part(3, 500),
    ]);
    await storage.blobs.removeMany("c", ["a", "b", "gone", "d"]);
    expect(asked(service)).toEqual(["DELETE /account/c/b", "DELETE /account/c/d", "batch"]);
    expect(storage.meter.counts()).toMatchObject({ other: 1, delete: 6 });
  });

  it("tries every blob alone that an answer says nothing of", async () => {
    const { storage } = await given([part(undefined, 400, "InvalidInput")]);
    await storage.blobs.removeMany("c", ["a", "b"]);
    expect(asked(service)).toEqual(["DELETE /account/c/a", "DELETE /account/c/b", "batch"]);
  });

  it("removes blobs one by one from an account that takes no batches", async () => {
    service = await fakeService((request, response) => {
      if (request.method === "POST") fail(response, 400, "InvalidInput");
      else if (request.url?.includes("/leased")) fail(response, 412, "LeaseIdMissing");
      else response.writeHead(202).end();
    });
    const removed = service.storage.blobs.removeMany("c", ["leased", "a", "b"]);
    await expect(removed).rejects.toMatchObject({
      kind: "refused",
      message: "Delete Blob c/leased: LeaseIdMissing, status 412",
    });
    expect(asked(service)).toEqual([
      "DELETE /account/c/a",
      "DELETE /account/c/b",
      "DELETE /account/c/leased",
      "batch",
    ]);
  });

  it("gives up at once where the identity may not delete", async () => {
    const denied = "AuthorizationPermissionMismatch";
    const { storage } = await given([part(0, 403, denied), part(1, 403, denied)]);
    const removed = storage.blobs.removeMany("c", ["a", "b"]);
    await expect(removed).rejects.toMatchObject({
      kind: "denied",
      message: expect.stringContaining('"Storage Blob Data Contributor"'),
    });
    expect(asked(service)).toEqual(["batch"]);
  });

  it("repeats a batch that gets no answer, then calls it busy and begins no other", async () => {
    service = await fakeService((request) => request.socket.destroy());
    const names = Array.from({ length: 500 }, (_, index) => `${index}`);
    const removed = service.storage.blobs.removeMany("c", names);
    await expect(removed).rejects.toMatchObject({ kind: "busy", retry: "later" });
    expect(new Set(asked(service))).toEqual(new Set(["batch"]));
    // Two batches are under way at once, each tried four times.
    expect(service.requests.length).toBeLessThanOrEqual(8);
  });

  it("ends at the caller's signal in the middle of a batch", async () => {
    service = await fakeService(() => {});
    const removed = service.storage.blobs.removeMany("c", ["a"], { signal: AbortSignal.timeout(200) });
    await expect(removed).rejects.toMatchObject({ name: "AbortError" });
  });
});
