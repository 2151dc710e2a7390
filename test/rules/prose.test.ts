import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/** The pages that everybody reads first are held to short sentences and to lines that fit a screen. */

const root = resolve(import.meta.dirname, "../..");
const rooms = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith("README.md"))
  .map((name) => join("src", name));
const pages = [
  "README.md",
  "CHANGELOG.md",
  "docs/ARCHITECTURE.md",
  "docs/DECISIONS.md",
  "docs/ELECTION.md",
  ...rooms,
];
const wordsMax = 25;
const lineMax = 140;

/** Paragraphs, items of lists, and what semicolons part in cells of tables; without code. */
function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let open: string[] = [];
  const close = (): void => {
    if (open.length > 0) blocks.push(open.join(" "));
    open = [];
  };
  for (const line of text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").split("\n")) {
    const item = /^\s*(?:[-*]|\d+\.)\s+/;
    if (/^\s*(?:#|$|\|)/.test(line) || item.test(line)) close();
    if (/^\s*\|/.test(line)) blocks.push(...line.trim().split(/(?<!\\)\||;/));
    else if (!/^\s*#/.test(line) && line.trim() !== "") open.push(line.replace(item, "").trim());
  }
  close();
  return blocks;
}

/** A span of code is one word, and a link counts by its text. */
function sentencesOf(text: string): string[] {
  return blocksOf(text).flatMap((block) =>
    block
      .replaceAll(/\]\([^)]*\)/g, "]")
      .replaceAll(/`[^`]*`/g, "X")
      .split(/(?<=[.!?:;])["”)*\]]*\s+(?=[A-Z0-9*[(“"~-])|(?<=[.!?])\*\*\s+/),
  );
}

const wordsOf = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

test("a sentence of the first pages has at most 25 words", () => {
  expect(sentencesOf("One `a b` two. Three: four\n| five | [six](x) |")).toEqual([
    "One X two.",
    "Three: four",
    "",
    " five ",
    " [six] ",
    "",
  ]);
  const long = pages.flatMap((page) =>
    sentencesOf(readFileSync(join(root, page), "utf8"))
      .filter((sentence) => wordsOf(sentence) > wordsMax)
      .map((sentence) => `${page}: ${wordsOf(sentence)} words: ${sentence}`),
  );
  expect(long).toEqual([]);
});

test("a line of the first pages fits into 140 columns, but for tables, code and pictures", () => {
  const long = [...pages, "CONTRIBUTING.md"].flatMap((page) =>
    readFileSync(join(root, page), "utf8")
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, "")
      .split("\n")
      .filter((line) => line.length > lineMax && !/^\s*(?:\||!\[)/.test(line))
      .map((line) => `${page}: ${line}`),
  );
  expect(long).toEqual([]);
});
