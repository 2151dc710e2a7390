import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

/** `scripts/pre.mjs`, with an npm that only notes that it was called. */
const root = join(import.meta.dirname, "../..");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasefold-pre-"));
  for (const name of ["scripts", "bin", "node_modules"]) mkdirSync(join(folder, name));
  cpSync(join(root, "scripts/pre.mjs"), join(folder, "scripts/pre.mjs"));
  writeFileSync(join(folder, "bin/npm"), '#!/bin/sh\necho "$@" > called\n', { mode: 0o755 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const own = { dependencies: { a: "1" }, devDependencies: { b: "1" } };
const a = { version: "1.0.0", integrity: "sha512-a" };
const b = { version: "1.0.0", integrity: "sha512-b" };
const forOthers = { version: "1.0.0", optional: true };
const locked = { "": own, "node_modules/a": a, "node_modules/b": b, "node_modules/c": forOthers };

/** Whether it installs, with a lockfile that is newer than what is installed, as a worktree of Git has it. */
function installs(installed: object | undefined): boolean {
  const file = join(folder, "node_modules/.package-lock.json");
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages: locked }));
  if (installed !== undefined) {
    writeFileSync(file, JSON.stringify({ packages: installed }));
    utimesSync(file, 1, 1);
  }
  const path = `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`;
  const { status, stderr } = spawnSync(process.execPath, [join(folder, "scripts/pre.mjs")], {
    cwd: folder,
    env: { ...process.env, PATH: path },
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  return existsSync(join(folder, "called"));
}

test("a lockfile that is newer, but says what is installed, installs nothing", () => {
  expect(installs({ "node_modules/a": a, "node_modules/b": b })).toBe(false);
});

test.each([
  ["nothing is installed", undefined],
  ["a package is missing", { "node_modules/a": a }],
  ["one has another version", { "node_modules/a": a, "node_modules/b": { ...b, version: "1.0.1" } }],
  ["one has another content", { "node_modules/a": a, "node_modules/b": { ...b, integrity: "sha512-x" } }],
  ["there is one too many", { "node_modules/a": a, "node_modules/b": b, "node_modules/d": a }],
])("packages are installed where %s", (_why, installed) => {
  expect(installs(installed)).toBe(true);
});
