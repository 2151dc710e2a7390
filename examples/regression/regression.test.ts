import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { folderFiles, runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import { makeHouses } from "./make-houses.ts";
// biome-ignore lint/suspicious/noTsIgnore: as above.
// @ts-ignore: as above.
import calculation from "./regression.ts";

const folder = mkdtempSync(join(tmpdir(), "regression-"));
makeHouses(join(folder, "houses"));
after(() => rmSync(folder, { recursive: true }));
const params = { source: "leasefold-inputs/houses/", of: "price", by: ["area", "rooms"] };

test("the coefficients are those of covariances over all rows at once", async () => {
  const houses = join(folder, "houses");
  const lines = readdirSync(houses).flatMap((name) =>
    readFileSync(join(houses, name), "utf8").trim().split("\n").slice(1),
  );
  const columns = [0, 1, 2].map((at) => lines.map((line) => Number(line.split('",')[1]?.split(",")[at])));
  const [area = [], rooms = [], price = []] = columns;
  const mean = (of: number[]) => of.reduce((a, b) => a + b) / of.length;
  const covariance = (a: number[], b: number[]) => mean(a.map((x, i) => x * (b[i] ?? 0))) - mean(a) * mean(b);
  const [aa, ar, rr] = [covariance(area, area), covariance(area, rooms), covariance(rooms, rooms)];
  const [ap, rp] = [covariance(area, price), covariance(rooms, price)];
  const byArea = (ap * rr - rp * ar) / (aa * rr - ar * ar);
  const byRooms = (rp * aa - ap * ar) / (aa * rr - ar * ar);
  const { body } = await runSerially(calculation, params, folderFiles(folder));
  const { rows, coefficients } = JSON.parse(Buffer.from(body).toString());
  assert.equal(rows, 10_000);
  const near = (found: number, wanted: number) =>
    assert.ok(Math.abs(found / wanted - 1) < 1e-9, `${found}, ${wanted}`);
  near(coefficients.area, byArea);
  near(coefficients.rooms, byRooms);
  near(coefficients.constant, mean(price) - byArea * mean(area) - byRooms * mean(rooms));
  assert.ok(Math.abs(byArea - 1_500) < 10);
});

test("a value that is no number names its file and line", async () => {
  writeFileSync(join(folder, "bad.csv"), "address,area,rooms,price\nA,50,2,90000\nB,60,?,95000\n");
  const run = runSerially(
    calculation,
    { ...params, source: "leasefold-inputs/bad.csv" },
    folderFiles(folder),
  );
  await assert.rejects(run, /bad\.csv, line 3: .*"rooms":"\?"/);
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, params, { files: folderFiles(folder) }), []);
});
