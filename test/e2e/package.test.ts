import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFacts } from "../../scripts/infra/facts.ts";
import { makePackage } from "../../scripts/infra/makePackage.ts";
import { readFiles } from "../../scripts/infra/project.ts";
import { type Azurite, startAzurite } from "../../src/local/azurite.ts";
import { type Instances, startInstances } from "../../src/local/instances.ts";

/** The package that Azure gets, in a folder with nothing above it to borrow from. */
const folder = mkdtempSync(join(tmpdir(), "leasefold-package-"));
const root = join(import.meta.dirname, "..", "..");

let azurite: Azurite;
let started: Instances | undefined;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await started?.stopAll();
  await azurite.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the package is host.json, package.json and the bundle, and it computes", async () => {
  const { bundle } = readFacts(readFiles());
  const files = makePackage(root, folder);
  expect(files).toEqual([...bundle.map((name) => `dist/${name}`), "host.json", "package.json"].sort());

  started = await startInstances({
    count: 2,
    appDir: folder,
    connectionString: azurite.connectionString,
    env: (_name, index) => ({
      ...{ LEASEFOLD_SCHEDULE: "* * * * * *", NODE_PATH: undefined },
      LEASEFOLD_READ_ONLY: String(index === 1),
    }),
  });
  const url = started.instances[0]?.httpUrl;
  const key = { "x-functions-key": started.functionKey };
  const submitted = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", ...key },
    body: JSON.stringify({ id: "packed", calculation: "queens", params: { n: 8 } }),
  });
  expect(submitted.status, await submitted.text()).toBe(202);
  // Eight queens have 92 solutions.
  await expect
    .poll(async () => (await fetch(`${url}/api/runs/packed/result`, { headers: key })).text(), {
      timeout: 60_000,
      interval: 500,
    })
    .toContain("92");
});

test("it answers what the dashboard asks, and 304 without a body where nothing has changed", async () => {
  const run = async (path: string, headers: Record<string, string> = {}) =>
    ask(0, `runs/packed${path}`, { headers });
  for (const path of ["", "/map"]) {
    const etag = (await run(path)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\//);
    const again = await run(path, { "if-none-match": etag });
    expect([path, again.status, await again.text()]).toEqual([path, 304, ""]);
  }
  const [durations, timeline, manifest, report] = await Promise.all(
    ["/durations", "/timeline", "/manifest", "/report"].map((path) => run(path)),
  );
  expect(await durations?.json()).toMatchObject({ run: "packed", p50Ms: expect.any(Number) });
  expect(await timeline?.json()).toMatchObject({ terms: [{ holder: expect.stringMatching(/^node-/) }] });
  expect(await manifest?.json()).toMatchObject({ complete: true });
  expect(await report?.text()).toMatch(/^<!doctype html>.*<h1>packed<\/h1>/s);
});

test("it plans in a thread of its own, and code that fails there is an answer", async () => {
  const plan = (params: object) =>
    ask(0, "plan", { method: "POST", body: JSON.stringify({ calculation: "queens", params }) });
  const planned = await plan({ n: 9 });
  expect([planned.status, await planned.json()]).toEqual([
    200,
    expect.objectContaining({ calculation: "queens", chunks: expect.any(Number) }),
  ]);
  const wrong = await plan({ n: -1 });
  expect([wrong.status, await wrong.json()]).toEqual([400, expect.objectContaining({ field: "n" })]);
});

test("an instance with LEASEFOLD_READ_ONLY shows everything and changes nothing", async () => {
  expect(await (await ask(1, "instance")).json()).toMatchObject({ readOnly: true });
  expect((await ask(1, "runs/packed")).status).toBe(200);
  const deleted = await ask(1, "runs/packed", { method: "DELETE" });
  expect([deleted.status, await deleted.json()]).toEqual([
    403,
    expect.objectContaining({ code: "read-only" }),
  ]);
  expect(await (await ask(0, "runs/packed")).json()).toMatchObject({ word: "complete" });
});

function ask(instance: number, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", "x-functions-key": started?.functionKey ?? "" };
  return fetch(`${started?.instances[instance]?.httpUrl}/api/${path}`, {
    ...{ ...init, headers: { ...headers, ...init.headers } },
  });
}
