import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { type Instances, startInstances } from "../../packages/cli/local/instances.ts";
import { readFacts } from "../../scripts/infra/facts.ts";
import { makePackage } from "../../scripts/infra/makePackage.ts";
import { readFiles } from "../../scripts/infra/project.ts";
import { buildOwnCalculations } from "../../scripts/ownCalculations.mjs";

/**
 * The package that Azure gets, in a folder with nothing above it to borrow from. It is made from a clone with calculations
 * of its own: what `leasefold new` writes, and one with a helper, a package in CommonJS and a data file.
 */
const clone = mkdtempSync(join(tmpdir(), "leasefold-clone-"));
const folder = mkdtempSync(join(tmpdir(), "leasefold-package-"));
const root = join(import.meta.dirname, "..", "..");

let azurite: Azurite;
let started: Instances | undefined;

beforeAll(async () => {
  for (const name of ["bin", "dist", "host.json", "package.json", ".funcignore"])
    cpSync(join(root, name), join(clone, name), { recursive: true });
  azurite = await startAzurite();
});
afterAll(async () => {
  await started?.stopAll();
  await azurite.stop();
  for (const one of [clone, folder]) rmSync(one, { recursive: true, force: true });
});

const leasefold = (...args: string[]): string =>
  execFileSync(process.execPath, [join(clone, "bin/leasefold.js"), ...args], {
    cwd: clone,
    encoding: "utf8",
  });

test("`new` in a clone writes into calculations/, and the build makes modules that need nothing beside them", async () => {
  expect(leasefold("new", "collatz")).toContain("leasefold check ./calculations/collatz.ts");
  const own = join(clone, "calculations");
  mkdirSync(join(own, "shared"));
  writeFileSync(join(own, "shared/half.ts"), "export const half = (n: number): number => n / 2;");
  writeFileSync(join(own, "factor.txt"), "4");
  mkdirSync(join(clone, "node_modules/number-in"), { recursive: true });
  writeFileSync(join(clone, "node_modules/number-in/package.json"), "{}");
  writeFileSync(
    join(clone, "node_modules/number-in/index.js"),
    `module.exports = (path) => Number(require("fs").readFileSync(path, "utf8"));`,
  );
  writeFileSync(
    join(own, "doubles.ts"),
    `import { createRequire } from "node:module";
     import numberIn from "number-in";
     import { defineCalculation, z } from "leasefold";
     import { half } from "./shared/half.ts";
     const require = createRequire(import.meta.url);
     require("node:fs");
     export default defineCalculation({ name: "doubles", summary: "a test", params: z.strictObject({}), plan: () => 3,
       compute: ({ index }) => half(index * numberIn(new URL("./factor.txt", import.meta.url))),
       merge: (a, b) => a + b, zero: () => 0 });`,
  );
  const made = ["collatz.mjs", "doubles.mjs", "factor.txt"];
  expect(await buildOwnCalculations(clone)).toEqual(made);
  expect(readdirSync(join(clone, "dist/calculations")).sort()).toEqual(made);
  // The command line knows them by name, as the app does, and takes a source instead of what was made of it.
  const known = JSON.parse(leasefold("calculations", "--json")).calculations as {
    name: string;
    code: string;
  }[];
  expect(known.map(({ name }) => name)).toEqual(expect.arrayContaining(["collatz", "doubles"]));
});

test("the package is host.json, package.json, the bundle and the own calculations, and it computes", async () => {
  const { bundle, own } = readFacts(readFiles());
  const files = makePackage(clone, folder);
  const ownFiles = ["collatz.mjs", "doubles.mjs", "factor.txt"].map((name) => `${own.built}/${name}`);
  const shared = readdirSync(join(root, "dist")).filter((name) => /^shared-.*\.cjs$/.test(name));
  expect(shared.length).toBeGreaterThan(1);
  const built = bundle.flatMap((name) => (name === "shared-[hash].cjs" ? shared : [name]));
  const expected = [...built.map((name) => `dist/${name}`), ...ownFiles, "host.json", "package.json"];
  const isDuckdb = (file: string): boolean =>
    /^dist\/node_modules\/(@duckdb\/node-(api|bindings|bindings-linux-x64)|detect-libc)\//.test(file);
  expect(files.filter((file) => !isDuckdb(file))).toEqual(expected.sort());
  for (const binary of ["duckdb.node", "libduckdb.so"])
    expect(files).toContain(`dist/node_modules/@duckdb/node-bindings-linux-x64/${binary}`);

  started = await startInstances({
    count: 2,
    appDir: folder,
    storage: { DataStorage: azurite.connectionString },
    env: (_name, index) => ({
      ...{ LEASEFOLD_SCHEDULE: "* * * * * *", NODE_PATH: undefined },
      LEASEFOLD_READ_ONLY: String(index === 1),
    }),
  });
  // There are 9,592 primes below 100,000; 871 takes most steps below 1,000 (OEIS A006877); half of 4 · (0 + 1 + 2) is 6.
  expect(await resultOf("primes", { to: 100_000 })).toContain("9592");
  expect(JSON.parse(await resultOf("collatz", { below: 1000 }))).toEqual({
    below: 1000,
    start: 871,
    steps: 178,
  });
  expect(JSON.parse(await resultOf("doubles", {}))).toBe(6);
  // DuckDB answers from the binary in the package.
  writeFileSync(join(clone, "table.csv"), "k,x\na,1\nb,2\na,3\n");
  leasefold("upload", "table.csv", "--to", "table/", "--connection", azurite.connectionString);
  const query = "select k, sum(x) as s from data group by k order by k";
  expect(JSON.parse(await resultOf("sql", { source: "leasefold-inputs/table/", query }))).toEqual([
    { k: "a", s: 4 },
    { k: "b", s: 2 },
  ]);
});

test("without the binary of Linux x64 there is no package", () => {
  const without = mkdtempSync(join(tmpdir(), "leasefold-without-"));
  const empty = mkdtempSync(join(tmpdir(), "leasefold-empty-"));
  try {
    for (const name of ["host.json", "package.json", ".funcignore"])
      cpSync(join(root, name), join(without, name));
    expect(() => makePackage(without, empty)).toThrow(
      /node-bindings-linux-x64\/libduckdb\.so is missing, which sql needs on Azure: run "npm install/,
    );
  } finally {
    for (const one of [without, empty]) rmSync(one, { recursive: true, force: true });
  }
});

test("it answers what the dashboard asks, and 304 without a body where nothing has changed", async () => {
  const run = async (path: string, headers: Record<string, string> = {}) =>
    ask(0, `runs/packed-primes${path}`, { headers });
  for (const path of ["", "/map"]) {
    let etag = "";
    // The leader closes the run in a few writes after its result is there.
    const askAgain = async () => {
      const again = await run(path, { "if-none-match": etag });
      etag = again.headers.get("etag") ?? "";
      return { status: again.status, body: again.status === 304 ? await again.text() : undefined };
    };
    await expect.poll(askAgain, { interval: 500 }).toEqual({ status: 304, body: "" });
    expect(etag).toMatch(/^W\//);
  }
  const [durations, timeline, manifest, report] = await Promise.all(
    ["/durations", "/timeline", "/manifest", "/report"].map((path) => run(path)),
  );
  expect(await durations?.json()).toMatchObject({ run: "packed-primes", p50Ms: expect.any(Number) });
  expect(await timeline?.json()).toMatchObject({ terms: [{ holder: expect.stringMatching(/^node-/) }] });
  expect(await manifest?.json()).toMatchObject({ complete: true });
  expect(await report?.text()).toMatch(/^<!doctype html>.*<h1>packed-primes<\/h1>/s);
});

test("it plans in a thread of its own, and code that fails there is an answer", async () => {
  const plan = (params: object) =>
    ask(0, "plan", { method: "POST", body: JSON.stringify({ calculation: "primes", params }) });
  const planned = await plan({ to: 9 });
  expect([planned.status, await planned.json()]).toEqual([
    200,
    expect.objectContaining({ calculation: "primes", chunks: expect.any(Number) }),
  ]);
  const wrong = await plan({ to: -1 });
  expect([wrong.status, await wrong.json()]).toEqual([400, expect.objectContaining({ field: "to" })]);
});

test("an instance with LEASEFOLD_READ_ONLY shows everything and changes nothing", async () => {
  expect(await (await ask(1, "instance")).json()).toMatchObject({ readOnly: true });
  expect((await ask(1, "runs/packed-primes")).status).toBe(200);
  const deleted = await ask(1, "runs/packed-primes", { method: "DELETE" });
  expect([deleted.status, await deleted.json()]).toEqual([
    403,
    expect.objectContaining({ code: "read-only" }),
  ]);
  expect(await (await ask(0, "runs/packed-primes")).json()).toMatchObject({ word: "complete" });
});

test("the build stops at a file that is no calculation", async () => {
  writeFileSync(join(clone, "calculations/worse.js"), "export default { name: 'worse' };");
  await expect(buildOwnCalculations(clone)).rejects.toThrow(
    /worse\.mjs exports no calculation: it lacks summary/,
  );
});

test("a submit of a calculation that the app does not have names the setting and the page", async () => {
  const { status, text } = await submit("losses", {});
  expect([status, text]).toEqual([
    400,
    expect.stringMatching(
      /collatz.*LEASEFOLD_CALCULATIONS.*docs\/OPERATIONS\.md, \\"Your own calculation\\"/,
    ),
  ]);
});

const headers = () => ({ "x-functions-key": started?.functionKey ?? "" });
const url = () => `${started?.instances[0]?.httpUrl}/api/runs`;

async function submit(calculation: string, params: object): Promise<{ status: number; text: string }> {
  const answer = await fetch(url(), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers() },
    body: JSON.stringify({ id: `packed-${calculation}`, calculation, params }),
  });
  return { status: answer.status, text: await answer.text() };
}

async function resultOf(calculation: string, params: object): Promise<string> {
  const submitted = await submit(calculation, params);
  expect(submitted.status, submitted.text).toBe(202);
  const result = () => fetch(`${url()}/packed-${calculation}/result`, { headers: headers() });
  await expect.poll(async () => (await result()).status, { interval: 500 }).toBe(200);
  return (await result()).text();
}

function ask(instance: number, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", "x-functions-key": started?.functionKey ?? "" };
  return fetch(`${started?.instances[instance]?.httpUrl}/api/${path}`, {
    ...{ ...init, headers: { ...headers, ...init.headers } },
  });
}
