import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/**
 * The tarball of `npm pack`, as the linters of packages and the package managers see it. No network is needed: zod is given as a
 * folder, and DuckDB, which `installed.test.ts` has, as an empty one.
 */
const root = resolve(import.meta.dirname, "../..");
const { NODE_OPTIONS: _options, NODE_PATH: _path, ...env } = process.env;
const ofYarn = {
  YARN_ENABLE_NETWORK: "0",
  YARN_ENABLE_TELEMETRY: "0",
  YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
  YARN_ENABLE_GLOBAL_CACHE: "0",
};
let folder: string;
let tarball: string;

const run = async (cwd: string, args: readonly string[]): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd,
    env: { ...env, ...ofYarn },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
  });
  return stdout + stderr;
};
const bin = (path: string): string => join(root, "node_modules", path);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-managers-"));
  const npm = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", npm, { cwd: root, env });
  const { name, version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  tarball = join(folder, `${name}-${version}.tgz`);
  expect(stdout).toContain(`${name}-${version}.tgz`);
  await cp(bin("zod"), join(folder, "zod"), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("publint has nothing to say of the tarball, suggestions included", async () => {
  const { buffer } = new Uint8Array(await readFile(tarball));
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
  expect(messages).toEqual([]);
});

// CommonJS gets the entries by `require` of a module, which each Node in `engines` has.
test("the types of each entry are those of the module that it gives", async () => {
  const attw = [bin("@arethetypeswrong/cli/dist/index.js"), tarball, "--profile", "esm-only"];
  expect(await run(folder, [...attw, "--no-color", "--format", "ascii"])).toContain('"leasefold/client"');
});

const values = `console.log(typeof leasefold.defineCalculation, typeof election.lead, typeof client.connect, typeof app.registerLeasefold);`;
const typed = `
  const calculation = defineCalculation({ name: "own", summary: "", params: z.strictObject({ n: z.number() }),
    plan: ({ n }) => n, compute: ({ index }) => index, merge: (a, b) => a + b, zero: () => 0 });
  export const options: LeadOptions["once"] = true;
  export const uses = [calculation, lead, connect({ url: "http://127.0.0.1" }).submit];
  // @ts-expect-error: the type is known, not any.
  connect({ url: 1 });
  registerLeasefold({ calculations: "src/calculations" });
  // @ts-expect-error: the type is known, not any.
  registerLeasefold({ calculations: 1 });`;
const imports = `import { defineCalculation, z } from "leasefold";
  import { lead, type LeadOptions } from "leasefold/election";
  import { connect } from "leasefold/client";
  import { registerLeasefold } from "leasefold/app";${typed}`;
const sources: Readonly<Record<string, string>> = {
  "uses.mjs": `import * as leasefold from "leasefold"; import * as election from "leasefold/election";
    import * as client from "leasefold/client"; import * as app from "leasefold/app"; ${values}`,
  "uses.cjs": `const leasefold = require("leasefold"), election = require("leasefold/election");
    const client = require("leasefold/client"), app = require("leasefold/app"); ${values}`,
  "esm.mts": imports,
  "cjs.cts": imports,
};

/** `require` of an ES module is known to `nodenext`, and an error in CommonJS under `node16`. */
const resolutions = [
  { options: "--module esnext --moduleResolution bundler", files: ["esm.mts"] },
  { options: "--module node16", files: ["esm.mts"] },
  { options: "--module nodenext", files: ["esm.mts", "cjs.cts"] },
];

interface Manager {
  readonly name: string;
  readonly install: readonly string[];
  /** What runs a program of the folder, and the command of the package. */
  readonly run: readonly string[];
  readonly command: readonly string[];
  /** TypeScript does not know Plug'n'Play. */
  readonly typeChecked: boolean;
  readonly files: (zod: string) => Readonly<Record<string, unknown>>;
}

const yarn = bin("@yarnpkg/cli-dist/bin/yarn.js");
const pnpm = bin("pnpm/bin/pnpm.mjs");
const managers: readonly Manager[] = [
  {
    name: "pnpm",
    install: [pnpm, "install", "--offline", "--ignore-scripts"],
    run: [],
    command: [pnpm, "exec", "leasefold"],
    typeChecked: true,
    files: (zod) => ({
      "pnpm-workspace.yaml": { overrides: { zod } },
    }),
  },
  ...["node-modules", "pnp"].map((nodeLinker) => ({
    name: `yarn, linked by ${nodeLinker}`,
    install: [yarn, "install"],
    run: [yarn, "node"],
    command: [yarn, "leasefold"],
    typeChecked: false,
    files: () => ({ ".yarnrc.yml": { nodeLinker }, "yarn.lock": "" }),
  })),
];

describe.each(managers)("$name", ({ install, run: runner, command, typeChecked, files }) => {
  let at: string;

  beforeAll(async () => {
    at = await mkdtemp(join(folder, "user-"));
    const zod = `file:${join(folder, "zod")}`;
    const dependencies = { leasefold: `file:${tarball}` };
    const about = { private: true, dependencies, resolutions: { zod } };
    const own = { "package.json": about, ...files(zod), ...sources };
    for (const [file, content] of Object.entries(own))
      await writeFile(join(at, file), typeof content === "string" ? content : JSON.stringify(content));
    await run(at, install);
  });

  test("the entries load as ES modules and in CommonJS", async () => {
    for (const file of ["uses.mjs", "uses.cjs"])
      expect(await run(at, [...runner, file])).toMatch(/^function function function function$/m);
  });

  test("the command line runs, and its threads compute", async () => {
    expect(await run(at, [...command, "check", "primes", "--to", "1e6"])).toContain(
      "primes: no law is broken",
    );
  });

  if (!typeChecked) return;

  // Without --skipLibCheck: the types of the package itself are checked too, and need none of Node.
  test.each(resolutions)("the types of the entries hold under $options", async ({ options, files }) => {
    const tsc = [bin("typescript/bin/tsc"), "--noEmit", "--strict", "--target", "es2024", "--ignoreConfig"];
    await run(at, [...tsc, ...options.split(" "), ...files]);
  });
});
