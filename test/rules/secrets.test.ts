import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** What secretlint finds by `.secretlintrc.json`, whose only allowed key is the emulator's published one. */
const found = (files: readonly string[]): string => {
  const program = join(root, "node_modules/secretlint/bin/secretlint.js");
  const config = ["--secretlintrc", join(root, ".secretlintrc.json"), "--maskSecrets", "--format", "unix"];
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...config, ...files], {
    cwd: root,
    encoding: "utf8",
  });
  return stdout + stderr;
};

test("no tracked file holds a secret", () => {
  // Hashes of packages look like keys.
  const tracked = execFileSync("git", ["ls-files", "-z", ":!package-lock.json", ":!.ci/packages.lock.json"], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\0")
    .filter((file) => file !== "");
  expect(tracked.length).toBeGreaterThan(1_000);
  expect(found(tracked)).toBe("");
});

test("keys of Azure and tokens of others are found", () => {
  const folder = mkdtempSync(join(tmpdir(), "leasefold-secrets-"));
  try {
    const planted = {
      storage: `AccountKey=${"aB3+/".repeat(17)}c==`,
      function: `code=${"a-_1".repeat(11)}AzFu${"bC3_d4"}==`,
      token: `ghp_${"aB3d".repeat(9)}`,
    };
    for (const [name, text] of Object.entries(planted)) writeFileSync(join(folder, name), text);
    const said = found(Object.keys(planted).map((name) => join(folder, name)));
    for (const name of Object.keys(planted)) expect(said).toMatch(new RegExp(`/${name}:\\d.*\\[Error/`));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
