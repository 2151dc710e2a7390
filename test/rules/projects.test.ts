import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import config from "../../vitest.config.ts";
import { longest } from "../runner/longestFirst.ts";

const cwd = join(import.meta.dirname, "../..");
const filesOf = (patterns: readonly string[]): string[] => globSync(patterns, { cwd });

test("every test file belongs to exactly one project of vitest.config.ts", () => {
  const { projects } = config.test as { projects: { test: { include: string[]; exclude?: string[] } }[] };
  const run = projects.flatMap(({ test: { include, exclude = [] } }) => {
    const left = new Set(filesOf(exclude));
    return filesOf(include).filter((file) => !left.has(file));
  });
  expect(run.length).toBeGreaterThan(300);
  expect(run.sort()).toEqual(filesOf(["test/**/*.test.ts"]).sort());
});

test("every file that is run first is there", () => {
  expect(longest.filter((file) => !existsSync(join(cwd, file)))).toEqual([]);
});
