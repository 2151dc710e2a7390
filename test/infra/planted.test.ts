import { describe, expect, test } from "vitest";
import { checkInfra, lineOf } from "../../scripts/infra/check.ts";
import { readFiles, rootNames } from "../../scripts/infra/project.ts";
import { ruleNames } from "../../scripts/infra/syntax.ts";
import { deliveryPlants } from "./deliveryPlants.ts";
import { otherPlants } from "./otherPlants.ts";
import { refusalPlants } from "./refusalPlants.ts";
import { templatePlants } from "./templatePlants.ts";

const files = readFiles();
const names = rootNames();
const plants = [...templatePlants, ...otherPlants, ...deliveryPlants, ...refusalPlants];

test("the infrastructure has no finding", async () => {
  expect((await checkInfra(files, names)).map(lineOf)).toEqual([]);
});

test("calculations of one's own, and what `leasefold new` writes at the root, are no finding", async () => {
  const more = [...names, "calculations", "mine.ts", "mine.test.ts", "mine.mts"];
  expect((await checkInfra(files, more)).map(lineOf)).toEqual([]);
});

test("a finding is one line: file, line, column, rule, message", async () => {
  const file = "infra/modules/dataStorage.bicep";
  const lines = (files.get(file) ?? "").split("\n");
  const at = lines.indexOf("    allowSharedKeyAccess: false");
  const planted = lines.with(at, "    allowSharedKeyAcces: false").join("\n");
  const found = (await checkInfra(new Map(files).set(file, planted), names)).map(lineOf);
  expect(found).toContain(
    `${file}:${at + 1}:5 resource-property properties.allowSharedKeyAcces is no property that can be set here; ` +
      "is allowSharedKeyAccess meant?",
  );
});

test("every rule has a planted mistake", () => {
  const own = ruleNames.filter((rule) => !rule.startsWith("bicep-"));
  const planted = new Set(plants.map(({ rule }) => rule));
  expect(own.filter((rule) => !planted.has(rule))).toEqual([]);
});

describe("a planted mistake is found by its own rule", () => {
  test.each(plants)("$rule: $file: $to", async ({ file, from, to, rule, says }) => {
    const text = files.get(file) ?? "";
    expect(text, `${file} no longer has ${JSON.stringify(from)}`).toContain(from);
    const planted = new Map(files).set(
      file,
      text.replace(from, () => to),
    );
    const found = (await checkInfra(planted, names)).filter((one) => one.rule === rule).map(lineOf);
    expect(found.length, "number of findings of that rule").toBeGreaterThan(0);
    expect(
      found.some((line) => says.test(line)),
      found.join("\n"),
    ).toBe(true);
  });
});
