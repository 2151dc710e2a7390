import assert from "node:assert/strict";
import { test } from "node:test";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import typescript from "./pi.ts";
// biome-ignore lint/suspicious/noTsIgnore: as above.
// @ts-ignore: as above.
import python from "./pi-python.ts";

const params = { terms: 720_001 };

test("Python and TypeScript give the same bytes, which tell pi", async () => {
  const results = await Promise.all([typescript, python].map((one) => runSerially(one, params)));
  const [first, second] = results.map(({ body }) => Buffer.from(body).toString());
  assert.equal(first, second);
  const { pi, terms } = JSON.parse(first ?? "");
  assert.ok(Math.abs(pi - Math.PI) < 1e-11);
  assert.equal(terms, params.terms);
});

test("the calculation in Python keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(python, params), []);
});
