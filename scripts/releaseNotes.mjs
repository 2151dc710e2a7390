import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `npm run release:notes [TAG]` prints what CHANGELOG says of the version in package.json. It fails where the tag is that of
 * another version, and where the section is missing, has no date or is empty.
 */
const read = (name) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
const { version } = JSON.parse(read("package.json"));
const [tag = `v${version}`] = process.argv.slice(2);

const section = read("CHANGELOG.md")
  .split(/^## /m)
  .find((one) => one.startsWith(`[${version}] - `));
const [, notes = ""] = /^\S+ - \d{4}-\d\d-\d\d\n(.*)$/s.exec(section ?? "") ?? [];

if (tag !== `v${version}`) fail(`the tag is ${tag}, and package.json has the version ${version}`);
if (notes.trim() === "") fail(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD" with text`);
console.log(notes.trim());

function fail(why) {
  console.error(why);
  process.exit(1);
}
