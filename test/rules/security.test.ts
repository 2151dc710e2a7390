import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "SECURITY.md"), "utf8");

/** The rows of the tables whose second column is headed `test`. */
const claims = text
  .split(/\n\n/)
  .filter((block) => block.startsWith("| claim | test |"))
  .flatMap((table) => table.trim().split("\n").slice(2));

test("every test that SECURITY.md names exists", () => {
  const named = [...text.matchAll(/`((?:packages\/\w+\/)?test\/[^`]+)`/g)].map(([, file]) => file as string);
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("every claim in SECURITY.md names a test", () => {
  expect(claims.length).toBeGreaterThan(20);
  expect(claims.filter((claim) => !/\| `(packages\/\w+\/)?test\/[^|]+\|$/.test(claim))).toEqual([]);
});
