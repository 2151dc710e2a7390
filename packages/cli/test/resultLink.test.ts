import { describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import type { Storage } from "../../../src/engine/storage/ports.ts";
import { apiRequest, call, fetchOn } from "../../../test/api/apiWorld.ts";
import { names } from "../../../test/client/clientWorld.ts";
import { connect } from "../../client/leasefoldClient.ts";
import { runCommand } from "../program.ts";
import { cliWorld, printed } from "./cliWorld.ts";

/** A finished run, on storage that signs; `test/contract/links.test.ts` has what an emulator makes of real links. */
async function world(linkTo?: Storage["linkTo"]) {
  const made = await cliWorld();
  const { storage, putResult } = made;
  const run = await submit(made.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  const manifest = await putResult(run, "4950");
  const found = await storage.blobs.head(names.results, manifest.blob);
  if (found.kind === "missing") throw new Error("there is no result");
  const signs: Storage["linkTo"] = async (container, name, asked) =>
    `https://a.blob.core.windows.net/${container}/${name}?${new URLSearchParams(JSON.parse(JSON.stringify(asked)))}`;
  const client = made.clientOn({ ...storage, linkTo: linkTo ?? signs });
  const get = (query = "", options = {}) =>
    call(
      client,
      "GET runs/{id}/result/link",
      apiRequest(`runs/r1/result/link${query}`, { params: { id: "r1" } }),
      options,
    );
  return { ...made, client, get, manifest, etag: found.properties.etag, nowMs: found.dateMs };
}

const denied = async () => {
  throw new StorageError("denied", "AuthorizationPermissionMismatch", 403, "not authorized");
};

describe("GET runs/{id}/result/link", () => {
  it("gives a link to the result alone for 15 minutes of storage's time, with what it is checked by", async () => {
    const { get, manifest, etag, nowMs } = await world();
    const answered = await get();
    const { url, ...rest } = answered.jsonBody as { url: string };
    const untilMs = nowMs + 900_000;
    expect(rest).toEqual({
      ...{ expires: new Date(untilMs).toISOString(), etag: `"${etag}"` },
      ...{ sha256: manifest.sha256, bytes: 4 },
    });
    const { pathname, searchParams } = new URL(url);
    expect(pathname).toBe(`/${names.results}/${manifest.blob}`);
    expect(Object.fromEntries(searchParams)).toEqual({
      ...{ nowMs: `${nowMs}`, untilMs: `${untilMs}`, fileName: "r1.json" },
    });
    expect(answered.header("cache-control")).toBe("no-store");
  });

  it("is off where the setting does not allow it, and says which one", async () => {
    const { get } = await world();
    expect(await get("", { resultLinks: false })).toMatchObject({
      ...{
        status: 403,
        jsonBody: { code: "links-off", detail: expect.stringContaining("LEASEFOLD_RESULT_LINKS") },
      },
    });
  });

  it("names the role where storage refuses to sign", async () => {
    const { get } = await world(denied);
    expect(await get()).toMatchObject({
      ...{
        status: 403,
        jsonBody: { code: "link-denied", detail: expect.stringContaining('"Storage Blob Delegator"') },
      },
    });
  });

  it("is refused where storage is reached by a key, for another generation, and for a result that is gone", async () => {
    const { get, client, storage, manifest } = await world();
    const asked = apiRequest("runs/r1/result/link", { params: { id: "r1" } });
    const { linkTo: _, ...keyed } = client.storage;
    expect(await call({ ...client, storage: keyed }, "GET runs/{id}/result/link", asked)).toMatchObject({
      ...{ status: 403, jsonBody: { code: "no-links" } },
    });
    expect(await get("?generation=2")).toMatchObject({
      status: 404,
      jsonBody: { code: "unknown-generation" },
    });
    storage.operator.deleteBlob(names.results, manifest.blob);
    expect(await get()).toMatchObject({ status: 500, jsonBody: { code: "result-missing" } });
  });

  it("is asked for by leasefold/client", async () => {
    const { client, world: time } = await world();
    const { resultLink } = connect({
      url: "https://app/api/",
      key: "k",
      fetch: fetchOn({ world: time, client }),
    }).run("r1");
    expect(await resultLink()).toMatchObject({ bytes: 4, url: expect.stringContaining("https://a.blob.") });
  });
});

describe("leasefold result --link", () => {
  async function run(line: string, linkTo?: Storage["linkTo"]) {
    const { client, world: time } = await world(linkTo);
    const [out, err] = [printed(), printed()];
    const rest = { instances: async () => undefined, connect: async () => client, clock: client.clock };
    const cli = { env: {}, folder: "/nowhere", out, err, signal: new AbortController().signal, ...rest };
    const calculations = async () => client.calculations;
    const startThread = () => Promise.reject(new Error("no thread"));
    const exitCode = await time.finish(runCommand(line.split(" "), { ...cli, calculations, startThread }));
    return { exitCode, out: out.text(), err: err.text() };
  }

  it("prints the link alone, and until when it holds", async () => {
    const { out, err } = await run("result r1 --link");
    expect(out).toMatch(/^https:\/\/a\.blob\.[^\n ]+\n$/);
    expect(err).toMatch(/^r1: whoever has this link reads 4 B until \d{4}-[^ ]+Z\n$/);
    expect(JSON.parse((await run("result r1 --link --json")).out)).toMatchObject({ bytes: 4 });
  });

  it.each([
    ["--so-far", "an answer so far has none"],
    ["-o file", "leave out --manifest and -o"],
    ["--manifest", "leave out --manifest and -o"],
  ])("is refused with %s", async (option, text) => {
    expect(await run(`result r1 --link ${option}`)).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining(text),
    });
  });

  it("names the role where storage refuses to sign", async () => {
    const { exitCode, err } = await run("result r1 --link", denied);
    expect([exitCode, err]).toEqual([2, expect.stringContaining('"Storage Blob Delegator"')]);
  });
});
