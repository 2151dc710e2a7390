import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Every user of a machine can read the arguments of a program, so no command that people copy puts a key there. */
const given = [
  /functions-key: ?\$/,
  /--(connection|header|H)[ =]"?[^ ]*(AccountKey=|\$\()/,
  /\$\([^)]*leasefold show (key|connection|dashboard|header)\)/,
  /[?&]code=/,
];
/** What stands before the command is its environment, which other users cannot read. */
const environment = /^\s*(?:[A-Z_]+="[^"]*" )+/;
const inArguments = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.replace(environment, ""))
    .filter((line) => given.some((pattern) => pattern.test(line)) && !/@<\(echo /.test(line));

it("no documented command and no workflow gives a key as an argument", () => {
  const names = execFileSync(
    "git",
    ["ls-files", "*.md", ".github", "scripts/starter", "packages/cli/starter"],
    {
      encoding: "utf8",
    },
  );
  const found = names
    .split("\n")
    .filter((name) => name !== "")
    .flatMap((name) => inArguments(readFileSync(name, "utf8")).map((line) => `${name}: ${line.trim()}`));
  expect(found).toEqual([]);
});

it("finds one that does", () => {
  expect(inArguments('curl -H "x-functions-key: $(leasefold show key)" URL')).toHaveLength(1);
  expect(inArguments("curl URL?code=abc")).toHaveLength(1);
  expect(inArguments('KEY="$(leasefold show key)" npm run x')).toEqual([]);
  expect(inArguments('KEY="a" npm run x "$(leasefold show key)"')).toHaveLength(1);
  expect(inArguments("curl -H @<(leasefold show header) URL")).toEqual([]);
});
