import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "SECURITY.md"), "utf8");

/** Sections whose items say what is not promised, or who may do what. */
const others = /^(Report|Who may|Out of scope)/;

/** The items of all other sections, but of the lists of documents. */
const promises = text
  .split(/^## /m)
  .slice(1)
  .filter((section) => !others.test(section))
  .map((section) => section.replace(/^### [\s\S]*/m, ""))
  .flatMap((section) => section.split(/\n(?=- |\n)/).filter((item) => item.startsWith("- ")));

test("every test that SECURITY.md names exists", () => {
  const named = [...text.matchAll(/`((?:packages\/\w+\/)?test\/[^`]+)`/g)].map(([, file]) => file as string);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("every promise in SECURITY.md ends with a test", () => {
  expect(promises.length).toBeGreaterThan(40);
  expect(promises.filter((item) => !/`(packages\/\w+\/)?test\/[^`]+`$/.test(item.trim()))).toEqual([]);
});

test("SECURITY.md is short enough to be read: at most 1,800 words", () => {
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(1_800);
});
