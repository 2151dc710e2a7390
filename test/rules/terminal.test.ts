import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** The ways to a terminal that pass the streams of the process, and so their guard (`packages/cli/render/terminal.ts`). */
const past =
  /\bwriteSync\(\s*[12]\b|\b(?:writeFileSync|createWriteStream)\(\s*(?:fd|[12]|"\/dev\/(?:tty|std))|_rawDebug|\btty\.|"node:tty"|stdio: "inherit"|"inherit"|\.fd\b/;

/** Each has its reason. */
const allowed: Readonly<Record<string, string>> = {
  "packages/cli/render/processScreen.ts":
    "a file gets every byte; the reason why a stream cannot be written is Node's own",
  "packages/cli/commands/runWhileLeading.ts":
    "a command of the user that has the terminal as if it was typed there",
  "packages/cli/up/detachUp.ts": "into a file of its own",
  "packages/cli/try/tryChunk.ts": "as its process ends: words of ours and a number",
  "bin/leasefold.js": "the same program in another Node, which guards its own streams",
};

it("nothing writes to a terminal but through the guarded streams", () => {
  const files = execFileSync("git", ["ls-files", "bin", "src", "packages"], { encoding: "utf8" })
    .split("\n")
    .filter((name) => /\.[cm]?[jt]sx?$/.test(name) && !/\/(test|starter)\//.test(name));
  const found = files.filter((name) => past.test(readFileSync(name, "utf8")));
  expect(found.filter((name) => !(name in allowed))).toEqual([]);
  expect(Object.keys(allowed).filter((name) => !found.includes(name))).toEqual([]);
});
