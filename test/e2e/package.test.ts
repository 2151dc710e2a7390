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
    count: 1,
    appDir: folder,
    connectionString: azurite.connectionString,
    env: { LEASEFOLD_SCHEDULE: "* * * * * *", NODE_PATH: undefined },
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
