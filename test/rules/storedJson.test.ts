import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** What parses JSON that no document of storage is, and why. All of storage goes through `parseJson`, which bounds it. */
const others: Readonly<Record<string, string>> = {
  "src/engine/model/decode.ts": "the one place for what is stored",
  "src/app/api/apiRequest.ts": "the body of a request, of at most 1 MB",
  "src/engine/model/hostSettings.ts": "host.json of the app",
  "src/engine/model/heldNumbers.ts": "texts of calculations, with numbers as they are",
  "src/engine/client/schedules/scheduleRequest.ts": "a copy of a value of ours",
  "src/engine/calculation/runJob.ts": "a copy of what a plan gave",
  "src/engine/calculation/packages.ts": "package.json of a package that a calculation imports",
  "src/engine/calculation/encodePart.ts": "partials, in the thread of the calculation",
  "src/engine/calculation/concat.ts": "partials, in the thread of the calculation",
  "src/calculations/command/messages.ts": "lines of a user's program, in the thread of the calculation",
  "src/calculations/exact/quantileSketch.ts": "partials, in the thread of the calculation",
  "src/host/queueDelivery.ts": "what a trigger is given, as the Functions host parses it",
};

it("nothing but the bounded decoder parses what storage holds", () => {
  const files = execFileSync("git", ["ls-files", "src"], { encoding: "utf8" })
    .split("\n")
    .filter((name) => name.endsWith(".ts"));
  const found = files.filter((name) => /\bJSON\.parse\(/.test(readFileSync(name, "utf8")));
  expect(found.filter((name) => !(name in others))).toEqual([]);
  expect(Object.keys(others).filter((name) => !found.includes(name))).toEqual([]);
});
