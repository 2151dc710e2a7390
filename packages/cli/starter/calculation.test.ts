import assert from "node:assert/strict";
import { test } from "node:test";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation from "./calculation.ts";

/** A whole run in one thread of this process; any number of workers must give the same result. */
async function run(params: { below: number }): Promise<unknown> {
  const { body } = await runSerially(calculation, calculation.params.parse(params));
  return JSON.parse(Buffer.from(body).toString());
}

// Compare with values that others have published (these are in OEIS A006877 and A006878), not with your own output.
test("the published values are found", async () => {
  assert.deepEqual(await run({ below: 1_000 }), { below: 1_000, start: 871, steps: 178 });
  assert.deepEqual(await run({ below: 100_000 }), { below: 100_000, start: 77_031, steps: 350 });
});

test("a limit of 2 leaves one number", async () => {
  assert.deepEqual(await run({ below: 2 }), { below: 2, start: 1, steps: 0 });
});

test("a limit of 1 is refused, as no number is below it", () => {
  assert.throws(() => calculation.params.parse({ below: 1 }), /below/);
});

// The same laws as `leasefold check`, which also explains a violation and tries the engine.
test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, { below: 20_000 }), []);
});
