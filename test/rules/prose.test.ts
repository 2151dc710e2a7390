import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/** The pages that everybody reads first are held to lines that fit a screen. */

const root = resolve(import.meta.dirname, "../..");
const rooms = ["src", "packages"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("README.md"))
    .map((name) => join(folder, name)),
);
const pages = [
  "README.md",
  "CHANGELOG.md",
  "docs/ARCHITECTURE.md",
  "docs/DECISIONS.md",
  "docs/ELECTION.md",
  ...rooms,
];
const lineMax = 140;

test("a line of the first pages fits into 140 columns, but for tables, code, pictures and lists of functions", () => {
  const long = [...pages, "CONTRIBUTING.md"].flatMap((page) =>
    readFileSync(join(root, page), "utf8")
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, "")
      .split("\n")
      .filter((line) => line.length > lineMax && !/^\s*(?:\||!\[|(?:Kept|Watched) by: )/.test(line))
      .map((line) => `${page}: ${line}`),
  );
  expect(long).toEqual([]);
});
