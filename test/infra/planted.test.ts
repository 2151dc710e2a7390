import { describe, expect, test } from "vitest";
import { checkProject } from "../../scripts/infra/check.ts";
import { lineOf, ruleNames } from "../../scripts/infra/finding.ts";
import { readFiles, readProject } from "../../scripts/infra/project.ts";
import { refusals } from "../../scripts/infra/rules/refusals.ts";
import { compiledPlants, plants } from "./plants.ts";

const project = readProject(readFiles());

test("the infrastructure has no finding", () => {
  expect(checkProject(project).map(lineOf)).toEqual([]);
});

test("calculations of one's own, and what `leasefold new` writes at the root, are no finding", () => {
  const rootNames = [...project.rootNames, "calculations", "mine.ts", "mine.test.ts", "mine.mts"];
  expect(checkProject({ ...project, rootNames }).map(lineOf)).toEqual([]);
});

test("every rule has a planted mistake", () => {
  const planted = new Set([...plants, ...compiledPlants].map(({ rule }) => rule));
  const all = [...ruleNames, ...refusals.map(({ rule }) => rule)];
  expect(all.filter((rule) => !planted.has(rule))).toEqual([]);
});

describe("a planted mistake is found by its own rule", () => {
  test.each(plants)("$rule in $what", ({ rule, says, plant }) => {
    const found = checkProject(plant(project)).filter((one) => one.rule === rule);
    expect(found.map((one) => one.says)).toContainEqual(expect.stringMatching(says));
  });
});
