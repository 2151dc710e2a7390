import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { byNpx, coreToolsCommand } from "../../../../scripts/coreTools.mjs";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder; with a program called `func` in the folder below it, if one is named. */
function folder(...below: string[]): string {
  const made = mkdtempSync(join(tmpdir(), "leasefold-func-"));
  folders.push(made);
  if (below.length > 0) {
    const bin = join(made, ...below);
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "func"), "#!/bin/sh\n");
    chmodSync(join(bin, "func"), 0o755);
  }
  return made;
}
const never = (): boolean => {
  throw new Error("npx is not asked where func is there");
};

describe.skipIf(process.platform === "win32")("npm start finds Core Tools", () => {
  test("in node_modules, before those on the path", () => {
    const app = folder("node_modules", ".bin");
    const global = folder("bin");
    const path = ["/nowhere", join(global, "bin")].join(delimiter);
    expect(coreToolsCommand(app, path, never)).toEqual([join(app, "node_modules", ".bin", "func")]);
    expect(coreToolsCommand(folder(), path, never)).toEqual([join(global, "bin", "func")]);
  });
  test("by npx where that works, and says so where it does not", () => {
    expect(coreToolsCommand(folder(), "", () => true)).toEqual(byNpx);
    expect(coreToolsCommand(folder(), "", () => false)).toBeUndefined();
  });
});

test("Core Tools are an optional peer, so that npm ci downloads no host", () => {
  const root = join(import.meta.dirname, "../../../..");
  const read = (file: string): unknown => JSON.parse(readFileSync(join(root, file), "utf8"));
  const name = "azure-functions-core-tools";
  const own = read("package.json") as {
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };
  expect(own.peerDependencies[name]).toMatch(/^\^4\./);
  expect(own.peerDependenciesMeta[name]).toEqual({ optional: true });
  const lock = read("package-lock.json") as { packages: Record<string, unknown> };
  expect(lock.packages[`node_modules/${name}`]).toBeUndefined();
});
