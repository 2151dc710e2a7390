import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { folderFiles, runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation from "./inventory.ts";

const folder = mkdtempSync(join(tmpdir(), "inventory-"));
mkdirSync(join(folder, "a"));
writeFileSync(join(folder, "a", "empty"), "");
writeFileSync(join(folder, "a", "b.txt"), "abc");
writeFileSync(join(folder, "million"), "a".repeat(1_000_000));
after(() => rmSync(folder, { recursive: true }));
const params = { source: "leasefold-inputs/" };

test("each file has its published hash, and the last line covers the lines above it", async () => {
  const { body } = await runSerially(calculation, params, folderFiles(folder));
  const lines = Buffer.from(body).toString().trimEnd().split("\n");
  // Of FIPS 180-2, appendix B, and of no bytes.
  assert.deepEqual(
    lines.slice(0, -1).map((line) => JSON.parse(line).sha256),
    [
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    ],
  );
  const { sha256, ...sums } = JSON.parse(lines.at(-1) ?? "");
  assert.deepEqual(sums, { files: 3, bytes: 1_000_003 });
  assert.match(sha256, /^[0-9a-f]{64}$/);
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, params, { files: folderFiles(folder) }), []);
});
