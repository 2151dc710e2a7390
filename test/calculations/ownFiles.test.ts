import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { namedFiles, withPackaged } from "../../src/engine/calculation/ownFiles.ts";

/** Stands for `dist/calculations`. */
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-own-"));
  for (const name of ["pi.mjs", "mean.mjs", "mean.test.ts", "kernel.wasm"])
    await writeFile(join(folder, name), "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const packaged = (name: string): string => join(folder, name);

test("LEASEFOLD_CALCULATIONS is a list of files, relative to the app, each taken once", () => {
  expect(namedFiles(" a.ts, /b/c.mjs,,a.ts", "/app")).toEqual([resolve("/app/a.ts"), resolve("/b/c.mjs")]);
  expect(namedFiles(undefined, "/app")).toEqual([]);
});

test("packaged modules come first and in order, and data files and tests beside them are no calculations", () => {
  const files = withPackaged(["/other/mine.ts"], folder);
  expect(files).toEqual([packaged("mean.mjs"), packaged("pi.mjs"), "/other/mine.ts"]);
});

test("a named file replaces the packaged one that was made of it, and a packaged one may be named itself", () => {
  expect(withPackaged(["/clone/calculations/pi.ts"], folder)).toEqual([
    packaged("mean.mjs"),
    "/clone/calculations/pi.ts",
  ]);
  const all = withPackaged([], folder);
  expect(withPackaged(all, folder)).toEqual(all);
});

test("an app without packaged calculations has the named ones alone", () => {
  expect(withPackaged(["/a.ts"], undefined)).toEqual(["/a.ts"]);
});
