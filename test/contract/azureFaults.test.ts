import { afterEach, describe, expect, it } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { type Answer, type FakeService, fail, fakeService } from "../support/fakeService.ts";
import { bytesOf, ofKind, textOf } from "./accounts.ts";

/** What Azurite never does: throttle, break off, hang, refuse an identity. The real SDKs against a server of ours. */
let service: FakeService;

afterEach(async () => {
  await service?.close();
});

async function given(answer: Answer): Promise<FakeService> {
  service = await fakeService(answer);
  return service;
}

const failureOf = async (call: Promise<unknown>): Promise<StorageError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageError);
  return error as StorageError;
};

describe("the Azure adapters", () => {
  it("retry a blob call up to four attempts while the service is busy, and count each", async () => {
    const { storage, requests } = await given((_, response) => fail(response, 503, "ServerBusy"));
    const error = await failureOf(storage.blobs.create("c", "b", "x"));
    expect(error).toMatchObject({ kind: "busy", retry: "later", storageCode: "ServerBusy", status: 503 });
    expect(requests).toEqual(Array(4).fill("PUT /account/c/b"));
    expect(storage.meter.counts()).toMatchObject({ write: 4, queue: 0 });
  });

  it("succeed when a retry does", async () => {
    const { storage } = await given((_, response, count) => {
      if (count < 3) return fail(response, 500, "InternalError");
      response.writeHead(201, { "x-ms-request-id": "1", ETag: '"0x1"' });
      response.end();
    });
    expect(await storage.blobs.create("c", "b", "x")).toEqual({ kind: "created", etag: "0x1", dateMs: 0 });
  });

  it("never retry a lease call", async () => {
    const { storage, requests } = await given((_, response) => fail(response, 503, "ServerBusy"));
    const lease = storage.lease("c", "leader");
    expect(await failureOf(lease.renew("id"))).toMatchObject({ kind: "busy" });
    expect(await failureOf(lease.view())).toMatchObject({ kind: "busy" });
    expect(requests).toEqual(["PUT /account/c/leader?comp=lease", "HEAD /account/c/leader"]);
    expect(storage.meter.counts()).toMatchObject({ other: 2 });
  });

  it("end a hung call at the caller's signal, with an AbortError", async () => {
    const { storage } = await given(() => {});
    const calls = [
      (signal: AbortSignal) => storage.lease("c", "leader").renew("id", { signal }),
      (signal: AbortSignal) => storage.blobs.read("c", "b", { signal }),
      (signal: AbortSignal) => storage.queues.send("q", "x", { signal }),
    ];
    for (const call of calls) {
      await expect(call(AbortSignal.timeout(200))).rejects.toMatchObject({ name: "AbortError" });
    }
  });

  it("call no answer busy, with the reason in the text", async () => {
    const { storage, requests } = await given((request) => request.socket.destroy());
    const error = await failureOf(storage.lease("c", "leader").renew("id"));
    expect(error).toMatchObject({ kind: "busy", storageCode: "", status: undefined });
    expect(error.message).toBe("Renew Lease c/leader (ECONNRESET): no answer");
    expect(requests).toHaveLength(1);
  });

  it("call a container or queue that is being deleted busy", async () => {
    const { storage } = await given(({ url }, response) =>
      fail(response, 409, url?.includes("restype") ? "ContainerBeingDeleted" : "QueueBeingDeleted"),
    );
    expect(await failureOf(storage.blobs.ensureContainer("c"))).toMatchObject({ kind: "busy", status: 409 });
    expect(await failureOf(storage.queues.ensureQueue("q"))).toMatchObject({ kind: "busy", status: 409 });
  });

  it("name the role that is missing", async () => {
    const code = "AuthorizationPermissionMismatch";
    const { storage } = await given((_, response) => fail(response, 403, code));
    const blob = await failureOf(storage.blobs.head("c", "b"));
    expect(blob).toMatchObject({ kind: "denied", storageCode: code });
    expect(blob.message).toContain('"Storage Blob Data Contributor"');
    const queue = await failureOf(storage.queues.send("q", "x"));
    expect(queue.message).toContain('"Storage Queue Data Contributor"');
  });

  it("take a 404 without the service's code for a failure, never for a missing blob", async () => {
    const { storage } = await given((_, response) => response.writeHead(404).end("not here"));
    expect(await failureOf(storage.blobs.read("c", "b"))).toMatchObject({ kind: "refused", status: 404 });
    expect(await failureOf(storage.blobs.head("c", "b"))).toMatchObject({ kind: "refused", status: 404 });
    expect(await failureOf(storage.queues.stats("q"))).toMatchObject({ kind: "refused", status: 404 });
  });

  it("take both codes for the loser of a create, and no other conflict", async () => {
    const codes = ["BlobAlreadyExists", "ConditionNotMet", "LeaseIdMissing"];
    const { storage } = await given((_, response, count) => {
      fail(response, count === 1 ? 409 : 412, codes[count - 1] ?? "");
    });
    expect(await storage.blobs.create("c", "b", "")).toEqual({ kind: "existed" });
    expect(await storage.blobs.create("c", "b", "")).toEqual({ kind: "existed" });
    expect(await failureOf(storage.blobs.create("c", "b", ""))).toMatchObject({ kind: "refused" });
  });

  it("keep connections alive from call to call", async () => {
    const { storage, connections, requests } = await given((request, response) => {
      const body = request.url?.includes("full") ? "x".repeat(200_000) : "";
      response.writeHead(200, { ETag: '"0x1"', "Content-Length": body.length }).end(body);
    });
    for (let round = 0; round < 5; round += 1) {
      await storage.blobs.read("c", "full");
      await storage.blobs.read("c", "empty");
      await storage.blobs.head("c", "b");
      await storage.queues.stats("q");
    }
    expect(requests).toHaveLength(20);
    // A call may begin a moment before the connection of the last one is free again.
    expect(connections()).toBeLessThanOrEqual(3);
  });

  it.each([
    ["frees", true],
    ["keeps", false],
  ])("%s the memory of a body that was read: transient is %s", async (_verb, transient) => {
    const body = Buffer.alloc(24 * 2 ** 20, "x");
    const { storage } = await given((_, response) => {
      response.writeHead(200, { ETag: '"0x1"', "Content-Length": body.length }).end(body);
    });
    const heldNow = () => process.memoryUsage().arrayBuffers;
    const found = ofKind(await storage.blobs.stream("c", "b", { transient }), "found");
    const before = heldNow();
    const pieces: Uint8Array[] = [];
    let held = 0;
    let bytes = 0;
    for await (const piece of found.body) {
      bytes += piece.length;
      held = Math.max(held, heldNow() - before);
      pieces.push(piece);
    }
    expect(bytes).toBe(body.length);
    const kept = pieces.reduce((sum, { length }) => sum + length, 0);
    expect(kept).toBe(transient ? 0 : body.length);
    // Of what the sockets read nothing is left either way.
    expect(held - kept).toBeLessThan(4 * 2 ** 20);
  });

  it("resume a download that broke off, under the same ETag", async () => {
    const { storage } = await given(breakingOff(2));
    const { body } = ofKind(await storage.blobs.stream("c", "b"), "found");
    expect(textOf(await bytesOf(body))).toBe("0123456789");
    expect(textOf(ofKind(await storage.blobs.read("c", "b"), "found").body)).toBe("0123456789");
    expect(storage.meter.counts().read).toBe(4);
  });

  it("give up a download that breaks off repeatedly", async () => {
    const { storage, requests } = await given(breakingOff(Number.POSITIVE_INFINITY));
    const error = await failureOf(storage.blobs.read("c", "b"));
    expect(error).toMatchObject({ kind: "busy", message: "Get Blob c/b broke off: no answer" });
    expect(requests).toHaveLength(4);
  });

  it("end a download whose blob was replaced in the middle", async () => {
    const { storage } = await given((request, response, count) => {
      if (count === 1) breakingOff(2)(request, response, count);
      else fail(response, 412, "ConditionNotMet");
    });
    expect(await failureOf(storage.blobs.read("c", "b"))).toMatchObject({ kind: "busy" });
  });
});

/** Serves ten bytes, two at a time until the connection closes; every n-th request gets all that is left. */
const breakingOff =
  (every: number): Answer =>
  (request, response, count) => {
    const from = Number(/bytes=(\d+)-/.exec(`${request.headers["x-ms-range"]}`)?.[1] ?? 0);
    const rest = "0123456789".slice(from);
    expect(request.headers["if-match"]).toBe(from === 0 ? undefined : '"0x1"');
    response.writeHead(from === 0 ? 200 : 206, {
      ETag: '"0x1"',
      "Content-Length": rest.length,
      "Content-Range": `bytes ${from}-9/10`,
    });
    if (count % every === 0) response.end(rest);
    else response.write(rest.slice(0, 2), () => setTimeout(() => request.socket.end(), 50));
  };
