import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

/** The repository without its optional packages: `src` and the tests of its rooms type-check, and those that load code pass. Needs a clone. */
const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** What tests the command line, the emulator or the templates needs the packages; so does what spans the repository. */
const rooms = ["model", "storage", "election", "calculations", "leader", "worker", "client", "api"];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-without-"));
  const { stdout } = await run("git", ["ls-files"], { cwd: root, maxBuffer: 16_000_000 });
  const wanted = (name: string): boolean => !name.startsWith("packages/");
  for (const file of stdout.trim().split("\n").filter(wanted))
    await cp(join(root, file), join(folder, file), { recursive: true });
  // Users' files find the library in the build.
  for (const name of ["node_modules", "dist"]) await symlink(join(root, name), join(folder, name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What is drawn here is fixed there. */
const { LEASEFOLD_SEED: _, VITEST: _vitest, ...env } = process.env;
const node = (script: string, ...args: string[]) => {
  const options = { cwd: folder, env, maxBuffer: 64_000_000 };
  return run(process.execPath, [join(root, "node_modules", script), ...args], options);
};

test("src and the tests of its rooms type-check without packages", async () => {
  const config = { extends: "./tsconfig.json", include: ["src", ...rooms.map((room) => `test/${room}`)] };
  await writeFile(join(folder, "tsconfig.src.json"), JSON.stringify(config));
  await node("typescript/bin/tsc", "-p", "tsconfig.src.json");
});

test("the tests of those rooms that load code while they run pass without packages", async () => {
  const args = [
    "run",
    "--project",
    "unit",
    "--project",
    "sim",
    "--reporter",
    "json",
    "--outputFile",
    "told.json",
  ];
  const files = [
    ...["worker", "client", "api"].map((room) => `test/${room}/`),
    "test/sim/engine/engine.test.ts",
  ];
  await node("vitest/vitest.mjs", ...args, ...files);
  const { numFailedTests, numPassedTests } = JSON.parse(await readFile(join(folder, "told.json"), "utf8"));
  expect(numFailedTests).toBe(0);
  expect(numPassedTests).toBeGreaterThan(500);
});
