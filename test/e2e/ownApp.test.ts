import { execFile, execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { type Instances, startInstances } from "../../packages/cli/local/instances.ts";

/**
 * An app of a user's own, made by `leasefold init` of the packed package in a folder that cannot see this project, with the
 * packages that its `package.json` names. Needs npm's registry, or a cache of it.
 */
const root = resolve(import.meta.dirname, "../..");
let folder: string;
let app: string;
let azurite: Azurite | undefined;
let deployed: Instances | undefined;

const { NODE_OPTIONS: _options, NODE_PATH: _path, DataStorage: _storage, ...inherited } = process.env;

/** Yarn asks the registry that npm does, and keeps what it fetches in the folder. */
const ofYarn = {
  YARN_NPM_REGISTRY_SERVER: execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim(),
  YARN_ENABLE_TELEMETRY: "0",
  YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
  YARN_ENABLE_GLOBAL_CACHE: "0",
};

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** On this Node, whatever the system's is. */
async function run(file: string, args: readonly string[], cwd = app): Promise<Ended> {
  const path = `${dirname(process.execPath)}${delimiter}${inherited["PATH"]}`;
  const env = { ...inherited, ...ofYarn, PATH: path, LEASEFOLD_STATE_DIR: join(folder, "state") };
  return promisify(execFile)(file, args, { cwd, env, maxBuffer: 64_000_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout = "", stderr = "" }) => ({ code, out: stdout, err: stderr }),
  );
}
const leasefold = (...args: string[]) => run("npx", ["--no-install", "leasefold", ...args]);

async function succeed(file: string, args: readonly string[], cwd = app): Promise<string> {
  const ended = await run(file, args, cwd);
  expect(ended, `${args.join(" ")}\n${ended.out}\n${ended.err}`).toMatchObject({ code: 0 });
  return ended.out;
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "leasefold-own-app-")));
  app = join(folder, "my-nightly");
  const tools = join(folder, "tools");
  await mkdir(tools);
  await succeed("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], root);
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  await writeFile(join(tools, "package.json"), '{ "private": true }');
  const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
  await succeed("npm", ["install", ...flags, join(folder, tarball)], tools);
  await succeed("npx", ["--no-install", "leasefold", "init", "../my-nightly"], tools);
  for (const { name } of managers) await cp(app, join(folder, name), { recursive: true });
  // It asks for the tarball, as no registry has this version.
  await succeed("npm", ["install", ...flags]);
});
afterAll(async () => {
  await leasefold("down");
  await deployed?.stopAll();
  await azurite?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("the test of an app that init wrote passes as it is", async () => {
  expect(await succeed("npm", ["test"])).toMatch(/pass 4\n.*fail 0\n/);
});

test("up runs the main file of a user's app, and its calculation by name", async () => {
  const started = await leasefold("up", "--detach", "--instances", "2");
  expect(started, started.err).toMatchObject({ code: 0 });
  const { code, out, err } = await leasefold("submit", "collatz", "--below", "1000", "--wait");
  // 871 takes most steps below 1,000 (OEIS A006877).
  expect({ code, result: JSON.parse(out || "{}") }, err).toEqual({
    code: 0,
    result: { below: 1000, start: 871, steps: 178 },
  });
  await succeed("npx", ["--no-install", "leasefold", "down"]);

  const main = join(app, "src/index.ts");
  const text = await readFile(main, "utf8");
  await writeFile(main, text.replace("./calculations/", "./elsewhere/"));
  const failed = await leasefold("up", "--detach", "--instances", "1");
  expect(failed).toMatchObject({ code: 2, err: expect.stringContaining("calculations: there is no folder") });
  await writeFile(main, text);
});

const managers = [
  // Its packages need none of their install scripts, and without that flag pnpm asks about each.
  { name: "pnpm", file: "pnpm/bin/pnpm.mjs", install: ["--ignore-scripts"], exec: ["exec"], own: {} },
  // In archives (Plug'n'Play) the build finds no packages.
  {
    ...{ name: "yarn", file: "@yarnpkg/cli-dist/bin/yarn.js", install: [], exec: [] },
    own: { ".yarnrc.yml": "nodeLinker: node-modules\n", "yarn.lock": "" },
  },
];

test.each(managers)(
  "the folder that init wrote is tested, run and built with $name",
  async ({ name, file, install, exec, own }) => {
    const at = join(folder, name);
    for (const [path, text] of Object.entries(own)) await writeFile(join(at, path), text);
    const by = (...args: string[]) =>
      succeed(process.execPath, [join(root, "node_modules", file), ...args], at);
    await by("install", ...install);
    expect(await by("test")).toMatch(/pass 4\n.*fail 0\n/);
    await by(...exec, "leasefold", "up", "--detach", "--instances", "1");
    try {
      const result = await by(...exec, "leasefold", "submit", "collatz", "--below", "1000", "--wait");
      expect(JSON.parse(result)).toEqual({ below: 1000, start: 871, steps: 178 });
    } finally {
      await by(...exec, "leasefold", "down");
    }
    await by("run", "build");
    expect((await readdir(join(at, "dist/node_modules"))).sort()).toEqual(["leasefold", "zod"]);
  },
);

test("up --watch loads a calculation that is added to the folder of an app, once its name is its own", async () => {
  const folderOf = join(app, "src/calculations");
  const text = await readFile(join(folderOf, "collatz.ts"), "utf8");
  await succeed("npx", ["--no-install", "leasefold", "up", "--detach", "--watch", "--instances", "1"]);
  await writeFile(join(folderOf, "other.ts"), text);
  await expect.poll(async () => (await leasefold("submit", "other", "--wait")).code).toBe(2);
  await writeFile(join(folderOf, "other.ts"), text.replace('name: "collatz"', 'name: "other"'));
  const submit = () => leasefold("submit", "other", "--below", "1000", "--wait");
  await expect.poll(async () => (await submit()).out, { interval: 1_000 }).toContain("871");
  await succeed("npx", ["--no-install", "leasefold", "down"]);
  await rm(join(folderOf, "other.ts"));
});

test("the package for Azure has no development dependency, and computes where nothing else is", async () => {
  await succeed("npm", ["run", "build"]);
  const dist = join(app, "dist");
  expect((await readdir(dist)).sort()).toEqual(["host.json", "node_modules", "package.json", "src"]);
  expect((await readdir(join(dist, "node_modules"))).sort()).toEqual(["leasefold", "zod"]);
  const ours = await readdir(join(dist, "node_modules/leasefold"));
  expect(ours.sort()).toEqual(["LICENSE", "dist", "host.json", "package.json"]);
  expect(await readdir(join(dist, "src/calculations"))).toEqual(["collatz.ts"]);
  expect(await readFile(join(dist, "package.json"), "utf8")).not.toMatch(/azurite|typescript|scripts/);

  const alone = join(folder, "alone");
  await cp(dist, alone, { recursive: true });
  azurite = await startAzurite();
  deployed = await startInstances({
    ...{ count: 1, appDir: alone, storage: { DataStorage: azurite.connectionString } },
    env: () => ({ LEASEFOLD_SCHEDULE: "* * * * * *", NODE_PATH: undefined }),
  });
  const headers = { "content-type": "application/json", "x-functions-key": deployed.functionKey };
  const runs = `${deployed.instances[0]?.httpUrl}/api/runs`;
  const body = JSON.stringify({ id: "own", calculation: "collatz", params: { below: 1000 } });
  expect((await fetch(runs, { method: "POST", headers, body })).status).toBe(202);
  const result = () => fetch(`${runs}/own/result`, { headers });
  await expect.poll(async () => (await result()).status, { interval: 500 }).toBe(200);
  expect(await (await result()).json()).toEqual({ below: 1000, start: 871, steps: 178 });
});
