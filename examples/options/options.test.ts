import assert from "node:assert/strict";
import { test } from "node:test";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation from "./options.ts";

const price = async (changes: object) => {
  const { body, chunks } = await runSerially(calculation, calculation.params.parse(changes));
  return { ...JSON.parse(Buffer.from(body).toString()), chunks };
};

test("call and put are within four standard errors of the formula of Black and Scholes", async () => {
  for (const [kind, exact] of [
    ["call", 10.450583572185565],
    ["put", 5.573526022256971],
  ] as const) {
    const found = await price({ kind, paths: 250_000 });
    assert.equal(found.paths, 250_000);
    assert.ok(found.standardError < 0.05);
    assert.ok(Math.abs(found.price - exact) < 4 * found.standardError, `${found.price}, ${exact}`);
  }
});

test("without volatility the price is the discounted payoff", async () => {
  const { price: found, standardError } = await price({ volatility: 0, paths: 10 });
  assert.ok(Math.abs(found - (100 - 100 * Math.exp(-0.05))) < 1e-12);
  assert.ok(standardError < 1e-6);
});

test("a run stops once the standard error is small enough", async () => {
  const { paths, standardError, chunks } = await price({ targetError: 0.05, paths: 2_000_000 });
  assert.ok(standardError <= 0.05);
  assert.ok(paths < 2_000_000 && chunks < 20);
});

test("the calculation keeps the laws", async () => {
  const params = calculation.params.parse({ paths: 200_001 });
  assert.deepEqual(await brokenLaws(calculation, params), []);
});
