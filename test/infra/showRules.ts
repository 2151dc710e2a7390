import { checkInfra, lineOf } from "../../scripts/infra/check.ts";
import { readFiles, rootNames } from "../../scripts/infra/project.ts";
import { ruleNames } from "../../scripts/infra/syntax.ts";
import { deliveryPlants } from "./deliveryPlants.ts";
import { otherPlants } from "./otherPlants.ts";
import { refusalPlants } from "./refusalPlants.ts";
import { templatePlants } from "./templatePlants.ts";

/** Prints each rule with the first mistake that is planted for it, and what the check says of that: `infra:check -- --rules`. */
const files = readFiles();
const plants = [...templatePlants, ...otherPlants, ...deliveryPlants, ...refusalPlants];
const onOneLine = (text: string) => JSON.stringify(text.length > 70 ? `${text.slice(0, 69)}…` : text);

for (const rule of ruleNames) {
  const [first, ...more] = plants.filter((one) => one.rule === rule);
  if (first === undefined) {
    console.log(`${rule}\n  told by the Bicep CLI where it is installed\n`);
    continue;
  }
  const text = (files.get(first.file) ?? "").replace(first.from, () => first.to);
  const found = await checkInfra(new Map(files).set(first.file, text), rootNames());
  const said = found.find((one) => one.rule === rule);
  console.log(`${rule} (${more.length + 1} planted)`);
  console.log(`  ${first.file}: ${onOneLine(first.from)} becomes ${onOneLine(first.to)}`);
  console.log(`  ${said === undefined ? "NOT FOUND" : lineOf(said)}\n`);
  if (said === undefined) process.exitCode = 1;
}
