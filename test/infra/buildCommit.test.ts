import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

type BuildCommit = (root: string, env: Readonly<Record<string, string>>) => string | undefined;

test("a build names its commit: that of the workflow, of the clone, or none", async () => {
  const root = join(import.meta.dirname, "../..");
  const module: unknown = await import(join(root, "scripts/buildCommit.mjs"));
  const { buildCommit } = module as { buildCommit: BuildCommit };
  expect(buildCommit(root, { GITHUB_SHA: "abc" })).toBe("abc");
  expect(buildCommit(root, {}) ?? "0".repeat(40)).toMatch(/^[0-9a-f]{40}(-dirty)?$/);
  const outside = mkdtempSync(join(tmpdir(), "leasefold-no-clone-"));
  expect(buildCommit(outside, {})).toBeUndefined();
  rmSync(outside, { recursive: true });
});
