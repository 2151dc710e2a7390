import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import config from "../../vitest.config.ts";
import { longest } from "../runner/longestFirst.ts";

const cwd = join(import.meta.dirname, "../..");
const filesOf = (patterns: readonly string[]): string[] => globSync(patterns, { cwd });

interface Project {
  readonly name: string;
  readonly include: string[];
  readonly exclude?: string[];
  readonly env?: Readonly<Record<string, string>>;
}

test("every test file belongs to exactly one project of vitest.config.ts, beside those that play it again from a drawn seed", () => {
  const { projects } = config.test as { projects: { test: Project }[] };
  const filesIn = (chosen: readonly { readonly test: Project }[]): string[] =>
    chosen.flatMap(({ test: { include, exclude = [] } }) => {
      const left = new Set(filesOf(exclude));
      return filesOf(include).filter((file) => !left.has(file));
    });
  const usual = filesIn(projects.filter(({ test: { name } }) => !name.startsWith("deep-")));
  const deep = filesIn(projects.filter(({ test: { name } }) => name.startsWith("deep-")));
  expect(usual.length).toBeGreaterThan(250);
  const played = [...usual, ...deep.filter((file) => !usual.includes(file))];
  expect(played.sort()).toEqual(filesOf(["test/**/*.test.ts", "packages/*/test/**/*.test.ts"]).sort());
  const drawn = filesIn(projects.filter(({ test: { env } }) => env !== undefined));
  expect(deep.filter((file) => usual.includes(file) && !drawn.includes(file))).toEqual([]);
});

test("every file that is run first is there", () => {
  expect(longest.filter((file) => !existsSync(join(cwd, file)))).toEqual([]);
});
