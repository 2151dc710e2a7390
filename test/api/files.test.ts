import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { resultBlobs } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

/** Files over HTTP: those that chunks saved, and uploads. */

async function saved(text = "rows") {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r1" });
  const name = `${hash("sha256", text)}.parquet`;
  world.storage.operator.overwriteBlob(names.results, resultBlobs(run.run, run.uid).file(name), text);
  const get = (asked: string, headers: Record<string, string> = {}, method = "GET") => {
    const request = apiRequest(`runs/r1/files/${asked}`, {
      headers,
      params: { id: "r1", name: asked },
      method,
    });
    return call(world.client, "GET runs/{id}/files/{name}", request);
  };
  return { ...world, run, name, get };
}

test("a file that chunks saved is a download with its hash as ETag, whole or in part", async () => {
  const { get, name } = await saved();
  const whole = await get(name);
  expect(whole).toMatchObject({ status: 200, body: Buffer.from("rows") });
  expect(whole.header("content-type")).toBe("application/octet-stream");
  expect(whole.header("content-disposition")).toBe(`attachment; filename="${name}"`);
  expect(whole.header("etag")).toBe(`"${hash("sha256", "rows")}"`);
  const part = await get(name, { range: "bytes=1-2" });
  expect(part).toMatchObject({ status: 206, body: Buffer.from("ow") });
  expect(part.header("content-range")).toBe("bytes 1-2/4");
  expect((await get(name, { "if-none-match": whole.header("etag") ?? "" })).status).toBe(304);
  expect((await get(name, {}, "HEAD")).header("content-length")).toBe("4");
});

test("only files that the run saved are given, whatever name is asked for", async () => {
  const { get, name } = await saved();
  for (const asked of [
    `${"0".repeat(64)}.parquet`,
    "result.json",
    "../r1.parquet",
    `${name}/`,
    name.slice(1),
  ])
    expect(await get(asked)).toMatchObject({
      status: 404,
      jsonBody: { code: "unknown-file", field: "name" },
    });
});

test("a saved file whose bytes are not those of its name is an error and no answer", async () => {
  const { get, name, run, storage } = await saved();
  storage.operator.overwriteBlob(names.results, resultBlobs(run.run, run.uid).file(name), "r0ws");
  expect(await get(name)).toMatchObject({ status: 500, jsonBody: { code: "result-hash" } });
});

async function uploads() {
  const world = await clientWorld();
  const post = (
    path: string,
    body: string,
    query = "",
    type = "application/octet-stream",
    readOnly = false,
  ) => {
    const params = { prefix: "sales", path };
    const request = apiRequest(`uploads/sales/x${query}`, {
      body,
      params,
      headers: { "content-type": type },
    });
    return call(world.client, "POST uploads/{prefix}/{path}", request, { readOnly });
  };
  return { ...world, post };
}

test("an upload is a source, is listed, and changes nothing when it is sent again", async () => {
  const { client, post } = await uploads();
  const sha256 = hash("sha256", "id\n1\n");
  const uploaded = { source: "test-inputs/sales/a.csv", bytes: 5, sha256 };
  for (let sent = 0; sent < 2; sent += 1)
    expect(await post("a.csv", "id\n1\n")).toMatchObject({ status: 201, jsonBody: uploaded });
  const listed = await call(client, "GET uploads", apiRequest("uploads"));
  expect(listed.jsonBody).toMatchObject({
    uploads: [{ source: "test-inputs/sales/", files: 1, bytes: 5 }],
  });
});

test("other content under a name in use is refused, and replaced only if asked", async () => {
  const { post } = await uploads();
  await post("a.csv", "old");
  expect(await post("a.csv", "new")).toMatchObject({ status: 409, jsonBody: { code: "other-content" } });
  expect(await post("a.csv", "new", "?replace=true")).toMatchObject({ status: 201 });
  expect(await post("a.csv", "old", "?replace=yes")).toMatchObject({ status: 400 });
});

test("an upload is refused by a read-only app, of another type, above 8 MiB and under no name of a blob", async () => {
  const { post } = await uploads();
  expect((await post("a", "x", "", "application/octet-stream", true)).status).toBe(403);
  expect((await post("a", "x", "", "text/plain")).status).toBe(415);
  const large = "x".repeat(8 * 1024 * 1024 + 1);
  expect(await post("a", large)).toMatchObject({ status: 413, jsonBody: { code: "body-too-large" } });
  for (const name of ["a.", "..", "a\nb", "x".repeat(1_000)])
    expect(await post(name, "x")).toMatchObject({ status: 400, jsonBody: { code: "bad-name" } });
});

test.each([
  ...[
    "\u202e",
    "\u200b",
    "\u200d",
    "\u200c",
    "\ufeff",
    "\u00ad",
    "\u2066",
    "\u2060",
    "\u2028",
    "\u0085",
    "\u001b",
  ],
  ...["\ufe0f", "\u{e0041}", "\u180e", "\u034f", "\u3164", "\u061c"],
])("a name with the unseen character %j is refused with its code point", async (one) => {
  const { post } = await uploads();
  const code = `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const refused = await post(`sal${one}es.csv`, "x");
  expect(refused).toMatchObject({ status: 400, jsonBody: { code: "bad-name" } });
  expect(JSON.stringify(refused.jsonBody)).toContain(code);
  expect(JSON.stringify(refused.jsonBody)).not.toContain(one);
});

test("a name in any script, and with emoji, is taken", async () => {
  const { post } = await uploads();
  for (const name of [
    "na\u00efve.csv",
    "\u0645\u06cc\u200c\u062e.csv",
    "\u{1f469}\u200d\u{1f4bb}.csv",
    "\u2601\ufe0f 1\ufe0f\u20e3.csv",
  ])
    expect(await post(name, "x")).toMatchObject({ status: 201 });
});

test("an app that may not write inputs says what may, as a deployed one does", async () => {
  const { client, post } = await uploads();
  client.storage.blobs.create = () =>
    Promise.reject(new StorageError("denied", "AuthorizationPermissionMismatch", 403, "not permitted"));
  const refused = await post("a.csv", "x");
  expect(refused).toMatchObject({ status: 403, jsonBody: { code: "uploads-denied" } });
  expect(JSON.stringify(refused.jsonBody)).toContain("leasefold upload");
});
