import { setTimeout as later } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Answer, type FakeService, fail, fakeService } from "../support/fakeService.ts";

/** Lists through the real SDK, as a service may answer them that is not Azurite: pages, refusals, broken answers. */
let service: FakeService;

afterEach(async () => {
  await service?.close();
});

async function given(answer: Answer): Promise<FakeService> {
  service = await fakeService(answer);
  return service;
}

const xml = { "Content-Type": "application/xml" };

/** A page that holds one blob, named after the prefix that was asked for. */
const pageFor = (url = "", rest = ""): string => {
  const prefix = new URL(url, "http://any").searchParams.get("prefix");
  return `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob><Name>${prefix}</Name></Blob></Blobs>${rest}</EnumerationResults>`;
};

const namesIn = (page: { readonly blobs: readonly { readonly name: string }[] }) =>
  page.blobs.map(({ name }) => name);

describe("a list through the SDK", () => {
  it("gives the service's time, and the cursor of a page without blobs", async () => {
    const { storage, requests } = await given((_, response) => {
      const cursor = "<NextMarker>n&amp;x</NextMarker>";
      response.writeHead(200, xml).end(`\uFEFF<EnumerationResults><Blobs />${cursor}</EnumerationResults>`);
    });
    expect(await storage.blobs.list("c", "p/")).toEqual({ blobs: [], cursor: "n&x", dateMs: 0 });
    const next = await storage.blobs.listFolders("c", "p/", { cursor: "n&x", pageSize: 7 });
    expect(next).toEqual({ folders: [], cursor: "n&x", dateMs: 0 });
    expect(requests[1]).toContain("marker=n%26x&maxresults=7");
  });

  it("gives each of many at once its own answer, in whatever order they come and whichever is repeated", async () => {
    const { storage } = await given(async (request, response, count) => {
      await later((count * 7) % 40);
      if (count % 5 === 0) fail(response, 503, "ServerBusy");
      else response.writeHead(200, xml).end(pageFor(request.url));
    });
    const prefixes = Array.from({ length: 40 }, (_, index) => `p${index}/`);
    const pages = await Promise.all(prefixes.map((prefix) => storage.blobs.list("c", prefix)));
    expect(pages.flatMap(namesIn)).toEqual(prefixes);
    expect(storage.meter.counts().list).toBeGreaterThan(40);
  });

  it("is refused and denied like any other call", async () => {
    const { storage, requests } = await given((_, response, count) => {
      if (count === 1) fail(response, 404, "ContainerNotFound");
      else fail(response, 403, "AuthorizationPermissionMismatch");
    });
    const refused = { kind: "refused", storageCode: "ContainerNotFound", status: 404 };
    await expect(storage.blobs.list("c", "")).rejects.toMatchObject(refused);
    await expect(storage.blobs.list("c", "")).rejects.toMatchObject({ kind: "denied", status: 403 });
    expect(requests).toHaveLength(2);
  });

  it("makes four attempts while the service is busy", async () => {
    const { storage } = await given((_, response) => fail(response, 503, "ServerBusy"));
    await expect(storage.blobs.list("c", "")).rejects.toMatchObject({ kind: "busy", status: 503 });
    expect(storage.meter.counts()).toMatchObject({ list: 4 });
  });

  it("is busy when its answer cannot be read or is another's", async () => {
    const bodies = [
      "",
      "<EnumerationResults><Blobs><Blob><Name>a</Name>",
      "<html><body>Sign in</body></html>",
    ];
    const { storage } = await given((_, response, count) => {
      response.writeHead(200, xml).end(bodies[count - 1]);
    });
    for (const _ of bodies) {
      const error = { kind: "busy", status: 200, retry: "later" };
      await expect(storage.blobs.list("c", "p/")).rejects.toMatchObject(error);
    }
  });

  it("ends at the caller's signal in the middle of its answer, with an AbortError", async () => {
    const caller = new AbortController();
    const { storage } = await given((request, response) => {
      response.writeHead(200, xml).write(pageFor(request.url).slice(0, 60), () => caller.abort());
    });
    const listed = storage.blobs.list("c", "", { signal: caller.signal });
    await expect(listed).rejects.toMatchObject({ name: "AbortError" });
  });

  it("is busy when its answer breaks off", async () => {
    const { storage } = await given((request, response) => {
      response.writeHead(200, { ...xml, "Content-Length": pageFor(request.url).length });
      response.write(pageFor(request.url).slice(0, 60), () => request.socket.destroy());
    });
    await expect(storage.blobs.list("c", "p/")).rejects.toMatchObject({ kind: "busy", status: undefined });
  });
});
