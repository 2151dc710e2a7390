import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenLaws, runSerially } from "../../src/calculations/leasefold.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";

/** The example of docs/CALCULATIONS.md, loaded as a user's own file. */
let folder: string;
let losses: AnyCalculation;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
  const page = await readFile(join(import.meta.dirname, "../../docs/CALCULATIONS.md"), "utf8");
  const [, section = ""] = page.split("### Numbers with the same bits everywhere\n");
  const [, code = ""] = section.split(/^```(?:ts)?\n/m);
  await writeFile(join(folder, "losses.ts"), code);
  losses = (await loadCalculations([join(folder, "losses.ts")])).get("losses");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the documented example of exact sums, sketches, random numbers and functions keeps the laws", async () => {
  expect(await brokenLaws(losses, { seed: 1, chunks: 4 })).toEqual([]);
});

test("the documented example finds the mean, median and tail of the lognormal distribution", async () => {
  const { body } = await runSerially(losses, { seed: 1, chunks: 30 });
  const { mean, median, p999 } = JSON.parse(Buffer.from(body).toString());
  const count = 300_000;
  // Five standard errors: of the mean √(e² - e), of a quantile √(q(1 - q)) over the density there; 0.1 % of the sketch.
  expect(Math.abs(mean - Math.sqrt(Math.E))).toBeLessThan(5 * Math.sqrt((Math.E ** 2 - Math.E) / count));
  expect(Math.abs(median - 1)).toBeLessThan((5 * 0.5) / (0.3989 * Math.sqrt(count)) + 0.001);
  const [z, density] = [3.0902, 0.003367];
  const error = ((5 * Math.sqrt(0.999 * 0.001)) / (density * Math.sqrt(count))) * Math.exp(z);
  expect(Math.abs(p999 - Math.exp(z))).toBeLessThan(error + 0.001 * Math.exp(z));
});
