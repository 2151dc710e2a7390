import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { folderFiles, runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import { makeTexts } from "./make-texts.ts";
// biome-ignore lint/suspicious/noTsIgnore: as above.
// @ts-ignore: as above.
import calculation from "./word-counts.ts";

const folder = mkdtempSync(join(tmpdir(), "word-counts-"));
makeTexts(folder);
after(() => rmSync(folder, { recursive: true }));
const params = { source: "leasefold-inputs/", top: 20 };

test("the counts are those of all texts in one", async () => {
  const names = readdirSync(folder);
  const words = names.flatMap((name) =>
    readFileSync(join(folder, name), "utf8").replace(".", "").trim().split(" "),
  );
  const sorted = words.sort();
  const counts: [string, number][] = [];
  for (const [at, word] of sorted.entries())
    if (word !== sorted[at - 1]) counts.push([word, sorted.lastIndexOf(word) - at + 1]);
  const { body } = await runSerially(calculation, params, folderFiles(folder));
  assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
    files: 500,
    words: words.length,
    different: counts.length,
    top: counts.sort(([, a], [, b]) => b - a).slice(0, 20),
  });
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, params, { files: folderFiles(folder), chunks: 20 }), []);
});
