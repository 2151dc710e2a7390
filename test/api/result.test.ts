import { describe, expect, it } from "vitest";
import { answerBytesMax, partBytesMax } from "../../src/app/api/apiRequest.ts";
import { rangeOf } from "../../src/app/api/bytes.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { resultBlobs } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

async function finished(text = '{"sum":4950}') {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  const manifest = await world.putResult(run, text);
  await world.putState(run, { phase: "complete" });
  const get = (headers: Record<string, string> = {}, query = "", method = "GET") => {
    const request = apiRequest(`runs/r1/result${query}`, { headers, params: { id: "r1" }, method });
    return call(world.client, "GET runs/{id}/result", request);
  };
  return { ...world, run, manifest, get };
}

const textOf = (body: unknown): string => Buffer.from(body as Uint8Array).toString("utf8");

describe("GET runs/{id}/result", () => {
  it("gives the bytes with content type, ETag and file name", async () => {
    const { get, manifest } = await finished();
    const answered = await get();
    expect(answered.status).toBe(200);
    expect(textOf(answered.body)).toBe('{"sum":4950}');
    expect(answered.header("content-type")).toBe("application/json");
    expect(answered.header("etag")).toBe(`"${manifest.sha256}"`);
    expect(answered.header("content-disposition")).toBe('inline; filename="r1.json"');
    expect(answered.header("leasefold-complete")).toBe("true");
  });

  it.each([
    ["bytes=7-10", "4950", "bytes 7-10/12"],
    ["bytes=7-", "4950}", "bytes 7-11/12"],
    ["bytes=-5", "4950}", "bytes 7-11/12"],
    ["bytes=0-999", '{"sum":4950}', "bytes 0-11/12"],
  ])("gives the range %s as 206", async (range, text, contentRange) => {
    const { get } = await finished();
    const answered = await get({ range });
    expect(answered.status).toBe(206);
    expect(textOf(answered.body)).toBe(text);
    expect(answered.header("content-range")).toBe(contentRange);
  });

  it("answers 416 with the length to a range behind the end", async () => {
    const { get } = await finished();
    const answered = await get({ range: "bytes=12-" });
    expect(answered).toMatchObject({
      status: 416,
      jsonBody: { code: "range-not-satisfiable", field: "Range" },
    });
    expect(answered.header("content-range")).toBe("bytes */12");
  });

  it("answers 304 to a caller who has it already", async () => {
    const { get, manifest } = await finished();
    for (const tag of [`"${manifest.sha256}"`, `"x", W/"${manifest.sha256}"`, "*"]) {
      const answered = await get({ "if-none-match": tag });
      expect([answered.status, answered.body]).toEqual([304, undefined]);
    }
    expect((await get({ "if-none-match": '"x"' })).status).toBe(200);
  });

  it("gives the whole when If-Range names another result", async () => {
    const { get, manifest } = await finished();
    expect((await get({ range: "bytes=0-1", "if-range": '"x"' })).status).toBe(200);
    expect((await get({ range: "bytes=0-1", "if-range": `"${manifest.sha256}"` })).status).toBe(206);
  });

  it("answers 409 while the run works, and when it failed", async () => {
    const { client, putState } = await clientWorld();
    const run = await submit(client, { calculation: "sum", params: { to: 100 }, id: "r1" });
    const get = () =>
      call(client, "GET runs/{id}/result", apiRequest("runs/r1/result", { params: { id: "r1" } }));
    expect(await get()).toMatchObject({ status: 409, jsonBody: { code: "not-finished" } });
    await putState(run, { phase: "failed" });
    expect(await get()).toMatchObject({ status: 409, jsonBody: { code: "run-failed" } });
  });

  it("takes an older generation by number and refuses nonsense", async () => {
    const { get } = await finished();
    expect((await get({}, "?generation=1")).status).toBe(200);
    expect((await get({}, "?generation=2")).status).toBe(404);
    expect(await get({}, "?generation=x")).toMatchObject({ status: 400, jsonBody: { field: "generation" } });
  });

  it("says of an older result which generation is the newest and how it ended", async () => {
    const { client, run, manifest, get, putState } = await finished();
    const told = ["leasefold-generation", "leasefold-newest-generation", "leasefold-newest-phase"];
    const headersOf = async (asked: ReturnType<typeof get>) => told.map((await asked).header);
    expect(await headersOf(get())).toEqual(["1", null, null]);
    await putState(run, { phase: "cancelled", generation: 2 });
    expect(await headersOf(get())).toEqual(["1", "2", "cancelled"]);
    expect(await headersOf(get({}, "", "HEAD"))).toEqual(["1", "2", "cancelled"]);
    expect(await headersOf(get({ "if-none-match": `"${manifest.sha256}"` }))).toEqual([
      null,
      "2",
      "cancelled",
    ]);
    expect(await headersOf(get({}, "?generation=1"))).toEqual(["1", null, null]);
    const asked = apiRequest("runs/r1/manifest", { params: { id: "r1" } });
    expect(await headersOf(call(client, "GET runs/{id}/manifest", asked))).toEqual([null, "2", "cancelled"]);
  });

  it("answers 500 for bytes that are not those of the manifest, never the bytes", async () => {
    const { get, storage, manifest } = await finished();
    storage.operator.overwriteBlob(names.results, manifest.blob, '{"sum":4951}');
    expect(await get()).toMatchObject({ status: 500, jsonBody: { code: "result-hash" } });
  });

  it("asks for ranges of a result that one answer cannot carry", async () => {
    const { get, run, putResult } = await finished();
    await putResult(run, "1234", { bytes: answerBytesMax + 1 });
    const answered = await get();
    expect(answered).toMatchObject({ status: 413, jsonBody: { code: "answer-too-large", field: "Range" } });
    expect(answered.header("content-range")).toBe(`bytes */${answerBytesMax + 1}`);
    expect(textOf((await get({ range: "bytes=1-2" })).body)).toBe("23");
  });

  it("answers HEAD with size, type and ETag, whatever the size, and without a range", async () => {
    const { get, run, putResult } = await finished();
    const { sha256 } = await putResult(run, "1234", { bytes: 8 * 1024 ** 3 });
    const answered = await get({ range: "bytes=1-2" }, "", "HEAD");
    expect([answered.status, answered.body]).toEqual([200, undefined]);
    const headers = ["content-length", "content-type", "etag", "accept-ranges"].map(answered.header);
    expect(headers).toEqual([String(8 * 1024 ** 3), "application/json", `"${sha256}"`, "bytes"]);
    expect((await get({ "if-none-match": `"${sha256}"` }, "", "HEAD")).status).toBe(304);
    expect(await get({}, "?soFar=true", "HEAD")).toMatchObject({ status: 400, jsonBody: { field: "soFar" } });
  });

  it.each([
    ["bytes=1-", 1],
    ["bytes=0-99999999", 0],
    [`bytes=-${partBytesMax + 1}`, 1],
  ])("gives of the range %s the first part, and says which that is", async (range, first) => {
    const all = "0123456789".repeat(1_000_000);
    const text = all.slice(0, partBytesMax + 2);
    const { get, manifest } = await finished(text);
    const answered = await get({ range });
    const body = answered.body as Uint8Array;
    expect([answered.status, body.byteLength]).toEqual([206, partBytesMax]);
    expect(textOf(body) === text.slice(first, first + partBytesMax)).toBe(true);
    const last = first + partBytesMax - 1;
    expect(answered.header("content-range")).toBe(`bytes ${first}-${last}/${manifest.bytes}`);
  });

  it("answers 500 for a part that storage holds less of than the manifest says", async () => {
    const { get, run, putResult } = await finished();
    await putResult(run, "1234", { bytes: 99 });
    expect(await get({ range: "bytes=2-50" })).toMatchObject({
      status: 500,
      jsonBody: { code: "result-length" },
    });
  });

  it.each([
    ["text/html", "html"],
    ["image/svg+xml", "svg"],
  ])(
    "of type %s is saved by a browser and never run from the API's origin",
    async (contentType, extension) => {
      const { get, run, putResult, storage } = await finished();
      const blob = resultBlobs(run.run, run.uid).result(1, "1-1-abcdefgh", extension);
      storage.operator.overwriteBlob(names.results, blob, "<script>");
      await putResult(run, "<script>", { contentType, blob });
      const answered = await get();
      expect(answered.header("content-disposition")).toBe(`attachment; filename="r1.${extension}"`);
      expect(answered.header("x-content-type-options")).toBe("nosniff");
      expect(answered.header("content-security-policy")).toBe("sandbox; default-src 'none'");
    },
  );
});

describe("a forged manifest", () => {
  it.each([
    ["a type that ends a header", { contentType: "text/plain\r\nset-cookie: a=b" }],
    ["a blob outside of the results", { blob: "r1/../../test-inputs/secret.csv" }],
    ["a blob without an extension", { blob: "r1/u/001/x/result.undefined/" }],
  ])("with %s is corrupt data, not an answer", async (_what, change) => {
    const { get, run, putResult } = await finished();
    await putResult(run, "1", change);
    const answered = await get();
    expect(answered).toMatchObject({ status: 409, jsonBody: { code: "unreadable" } });
    expect(answered.header("content-type")).toBe("application/problem+json");
  });
});

describe("the Range header", () => {
  it.each([
    [null, 10, { kind: "whole" }],
    ["bytes=0-0", 10, { kind: "part", offset: 0, count: 1 }],
    ["bytes=-99", 10, { kind: "part", offset: 0, count: 10 }],
    ["bytes=-0", 10, { kind: "unsatisfiable" }],
    ["bytes=0-", 0, { kind: "unsatisfiable" }],
    ["bytes=5-2", 10, { kind: "whole" }],
    ["bytes=0-1,3-4", 10, { kind: "whole" }],
    ["bytes=-", 10, { kind: "whole" }],
    ["lines=0-1", 10, { kind: "whole" }],
    ["bytes=a-b", 10, { kind: "whole" }],
  ] as const)("%s of %d bytes is understood as the standard says", (header, bytes, asked) => {
    expect(rangeOf(header, bytes)).toEqual(asked);
  });
});
