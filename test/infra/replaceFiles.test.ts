import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceFiles } from "../../scripts/replaceFiles.mjs";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "leasefold-replace-"));
});
afterEach(() => rm(root, { recursive: true }));

async function folder(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name, file)), { recursive: true });
    await writeFile(join(root, name, file), text);
  }
  return join(root, name);
}

async function textsIn(name: string): Promise<Record<string, string>> {
  const entries = await readdir(join(root, name), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((one) => join(one.parentPath, one.name));
  const texts = await Promise.all(files.sort().map((file) => readFile(file, "utf8")));
  return Object.fromEntries(
    files.map((file, i) => [file.slice(join(root, name).length + 1), texts[i] ?? ""]),
  );
}

test("a folder gets the files of another and no others, and what is the same is not touched", async () => {
  const to = await folder("dist", { "same.cjs": "1", "changed.cjs": "old", "ui/gone.js": "gone" });
  const before = await stat(join(to, "same.cjs"));
  const files = { "same.cjs": "1", "changed.cjs": "new", "types/a.d.ts": "type" };
  await replaceFiles(await folder("made", files), to);
  expect(await textsIn("dist")).toEqual(files);
  expect((await stat(join(to, "same.cjs"))).ino).toBe(before.ino);
});

test("of builds of the same sources at once none takes a file from whoever reads the first one's", async () => {
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i % 4}/${i}.cjs`, `new ${i}`]));
  for (let round = 0; round < 5; round++) {
    const old = { ...files, "0/0.cjs": `old ${round}`, [`gone-${round}.cjs`]: "gone" };
    const to = await folder("dist", old);
    const made = await Promise.all([1, 2, 3].map((i) => folder(`made-${round}-${i}`, files)));
    const ends = made.map(async (from) => {
      await replaceFiles(from, to);
      // As whoever packs it does, while the others go on.
      expect(await textsIn("dist")).toEqual(files);
    });
    await Promise.all(ends);
  }
});
