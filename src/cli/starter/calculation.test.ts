import assert from "node:assert/strict";
import { test } from "node:test";
import { brokenLaws, runSerially } from "leasefold";
import calculation from "./calculation.ts";

/** A whole run in this process, in one thread: what any number of workers must equal. */
async function run(params: { below: number }): Promise<unknown> {
  const { body } = await runSerially(calculation, calculation.params.parse(params));
  return JSON.parse(Buffer.from(body).toString());
}

// Take truths that somebody else has published (these are in OEIS A006877 and A006878), not what the code gave.
test("finds what is published", async () => {
  assert.deepEqual(await run({ below: 1_000 }), { below: 1_000, start: 871, steps: 178 });
  assert.deepEqual(await run({ below: 100_000 }), { below: 100_000, start: 77_031, steps: 350 });
});

test("one number is enough", async () => {
  assert.deepEqual(await run({ below: 2 }), { below: 2, start: 1, steps: 0 });
});

test("refuses a limit that no number is below", () => {
  assert.throws(() => calculation.params.parse({ below: 1 }), /below/);
});

// The same laws as `leasefold check`, which also explains a breach and tries the engine itself.
test("keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, { below: 20_000 }), []);
});
