import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** The linter forbids timers in these tests (`overrides` of biome.json); the app's own clock sleeps as well. */
test("only contract, chaos and e2e tests sleep on the system's clock", () => {
  const sleeping = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !/^(contract|chaos|e2e|rules)[/\\]/.test(name))
    .filter((name) => /\bsystemClock\.(sleep|after)\(/.test(readFileSync(join(root, name), "utf8")));
  // It tests that very clock, with fake timers.
  expect(sleeping.map((name) => name.replaceAll("\\", "/"))).toEqual(["storage/system.test.ts"]);
});
