import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStartupConfig } from "../../src/app/functions/startupConfig.ts";

/** An app of a user's own, in whose `src/calculations` are its calculations. */
let app = "";
const env = { DataStorage: "UseDevelopmentStorage=true" };

beforeAll(() => {
  app = mkdtempSync(join(tmpdir(), "leasefold-app-folder-"));
  mkdirSync(join(app, "src/calculations/helpers"), { recursive: true });
  writeFileSync(join(app, "host.json"), '{ "version": "2.0", "functionTimeout": "00:20:00" }');
  for (const name of ["mean.ts", "mean.test.ts", "helpers/sum.ts"])
    writeFileSync(join(app, "src/calculations", name), "");
});
afterAll(() => rmSync(app, { recursive: true, force: true }));

test("an app has the calculations directly in the folder that it names, and the host.json above it", () => {
  const { files, host } = readStartupConfig(env, join(app, "src/calculations"));
  expect(files).toEqual([join(app, "src/calculations/mean.ts")]);
  expect(host.functionTimeoutMs).toBe(1_200_000);
});

test("files that LEASEFOLD_CALCULATIONS names are relative to the folder of host.json, and replace those of the same name", () => {
  const named = { ...env, LEASEFOLD_CALCULATIONS: "other/mean.ts" };
  expect(readStartupConfig(named, join(app, "src/calculations")).files).toEqual([join(app, "other/mean.ts")]);
});

test("a folder of calculations that is not there stops the start with its path", () => {
  const missing = join(app, "src/calculation");
  expect(() => readStartupConfig(env, missing)).toThrow(`calculations: there is no folder ${missing}`);
});

test("without a folder an app has the built-in calculations alone", () => {
  expect(readStartupConfig(env, undefined).files).toEqual([]);
});
