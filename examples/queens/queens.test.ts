import assert from "node:assert/strict";
import { test } from "node:test";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation, { kernel } from "./queens.ts";

test("boards of 1 to 10 have the published numbers of solutions", async () => {
  // oeis.org/A000170
  for (const [at, solutions] of [1, 0, 0, 2, 10, 4, 40, 92, 352, 724].entries()) {
    const { body } = await runSerially(calculation, { n: at + 1 });
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), { n: at + 1, solutions });
  }
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, { n: 6 }), []);
});

test("the kernel is what its source compiles to", async (t) => {
  // biome-ignore lint/suspicious/noTsIgnore: as above.
  // @ts-ignore: as above.
  const compiler = await import("./compile-kernel.ts").catch(() => undefined);
  if (compiler === undefined) return t.skip("assemblyscript is not installed");
  assert.equal(kernel, await compiler.compileKernel());
});
