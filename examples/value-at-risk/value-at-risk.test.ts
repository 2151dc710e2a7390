import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { folderFiles, randomStream, runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import { makeMarket } from "./make-market.ts";
// biome-ignore lint/suspicious/noTsIgnore: as above.
// @ts-ignore: as above.
import calculation from "./value-at-risk.ts";

const folder = mkdtempSync(join(tmpdir(), "value-at-risk-"));
const file = makeMarket(folder);
after(() => rmSync(folder, { recursive: true }));
const params = { source: "leasefold-inputs/returns.csv", scenarios: 1_200, confidence: 0.95, seed: 7 };

test("the market has about 3 MB", () => {
  assert.ok(Math.abs(statSync(file).size / 1e6 - 3) < 0.3);
});

test("value at risk and mean are those of all losses in one sorted list", async () => {
  const history = readFileSync(file, "utf8").trim().split("\n").slice(1);
  const days = history.map((line) => line.split(",").map(Number));
  const losses: number[] = [];
  for (let chunk = 0; losses.length < params.scenarios; chunk += 1) {
    const random = randomStream(params.seed, chunk);
    for (let of = 0; of < 500 && losses.length < params.scenarios; of += 1) {
      const prices = Array(250).fill(1);
      for (let day = 0; day < 10; day += 1) {
        const returns = days[Math.floor(random.uniform() * days.length)] ?? [];
        for (const [asset, one] of returns.entries()) prices[asset] *= Math.exp(one);
      }
      losses.push(1 - prices.reduce((a, b) => a + b) / prices.length);
    }
  }
  losses.sort((a, b) => a - b);
  const { body } = await runSerially(calculation, params, folderFiles(folder));
  const { valueAtRisk, meanLoss, scenarios } = JSON.parse(Buffer.from(body).toString());
  const rank = losses[Math.ceil(params.confidence * losses.length) - 1] ?? Number.NaN;
  assert.ok(Math.abs(valueAtRisk - rank) <= 0.001 * rank, `${valueAtRisk} and ${rank}`);
  assert.ok(Math.abs(meanLoss - losses.reduce((a, b) => a + b) / losses.length) < 1e-12);
  assert.equal(scenarios, 1_200);
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, params, { files: folderFiles(folder) }), []);
});
