import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** What `scripts/pre.mjs` asks of npm, in a clone of two packages whose npm writes down how it was called. */
const script = join(import.meta.dirname, "../../../../scripts/pre.mjs");
const lock = {
  "": { devDependencies: { runs: "1.0.0" } },
  "node_modules/runs": { dependencies: { below: "1.0.0" } },
  "node_modules/below": {},
  "node_modules/leasefold-tools": { resolved: "test/tools", link: true },
  "node_modules/tests": {},
  "test/tools": { dependencies: { tests: "1.0.0", runs: "1.0.0" } },
};
let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "leasefold-pre-"));
  for (const folder of ["scripts", "bin"]) mkdirSync(join(clone, folder));
  copyFileSync(script, join(clone, "scripts/pre.mjs"));
  write("package-lock.json", JSON.stringify({ packages: lock }));
  npmThat("exit 0");
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(clone, name), text);
const npmThat = (does: string): void => {
  write("bin/npm", `#!/bin/sh\necho "$*" >> "${clone}/asked"\n${does}\n`);
  chmodSync(join(clone, "bin/npm"), 0o755);
};
/** As after an installation that has ended: npm writes this file last. */
const has = (...names: (keyof typeof lock)[]): void => {
  mkdirSync(join(clone, "node_modules"), { recursive: true });
  write("node_modules/whole", "");
  const packages = Object.fromEntries(names.map((name) => [name, lock[name]]));
  write("node_modules/.package-lock.json", JSON.stringify({ packages }));
};
const base = ["node_modules/runs", "node_modules/below"] as const;
const tools = ["node_modules/leasefold-tools", "node_modules/tests", "test/tools"] as const;
const pre = (...args: string[]) => {
  const env = { ...process.env, PATH: [join(clone, "bin"), process.env["PATH"]].join(delimiter) };
  return spawnSync(process.execPath, [join(clone, "scripts/pre.mjs"), ...args], { env, encoding: "utf8" });
};
const asked = (): string => readFileSync(join(clone, "asked"), "utf8");
const isThere = (name: string): boolean => existsSync(join(clone, name));

describe.skipIf(process.platform === "win32")("before a script", () => {
  test("a new clone installs what runs, and the tools too if the script needs them", () => {
    expect(pre().status).toBe(0);
    expect(pre("tools").stdout).toBe("Installing the packages, once …\n");
    expect(asked()).toBe("ci --workspaces=false --progress=false\nci --progress=false\n");
  });

  test("the tools are added to what is there, and an interruption in the middle of that is no whole installation", () => {
    has(...base);
    expect(pre("tools").stdout).toBe("Installing what tests and checks need, once …\n");
    expect(asked()).toBe("install --no-save --progress=false\n");
    expect(isThere("node_modules/whole")).toBe(true);
    // This npm wrote nothing, as one that was killed.
    expect(pre().stdout).toBe("Installing the packages, once …\n");
    expect(isThere("node_modules/whole")).toBe(false);
  });

  test("nothing is installed where all is there", () => {
    has(...base);
    expect(pre()).toMatchObject({ status: 0, stdout: "", stderr: "" });
    has(...base, ...tools);
    expect(pre("tools")).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect(isThere("asked")).toBe(false);
  });

  /** As in a new worktree of Git, which writes the lockfile anew. */
  const isOlder = (packages: object): void => {
    const installed = "node_modules/.package-lock.json";
    if (Object.keys(packages).length > 0) write(installed, JSON.stringify({ packages }));
    utimesSync(join(clone, installed), 1, 1);
  };

  test("a newer lockfile that says what is installed installs nothing", () => {
    has(...base, ...tools);
    isOlder({});
    pre("tools");
    expect(isThere("asked")).toBe(false);
  });

  test.each([
    ["has another version", { ...lock, "node_modules/below": { version: "1.0.1" } }],
    ["has another content", { ...lock, "node_modules/below": { integrity: "sha512-x" } }],
    ["is one too many", { ...lock, "node_modules/other": { version: "1.0.0" } }],
  ])("a newer lockfile installs anew, tools included, where a package %s", (_what, packages) => {
    has(...base, ...tools);
    isOlder(packages);
    pre();
    expect(asked()).toBe("ci --progress=false\n");
  });

  test("an installation that fails ends the script with npm's exit code", () => {
    npmThat("exit 7");
    expect(pre().status).toBe(7);
  });
});
