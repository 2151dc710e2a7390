import assert from "node:assert/strict";
import { test } from "node:test";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation from "./collatz.ts";

test("the table has a row for each number in order, behind the names of the columns", async () => {
  const { body, contentType } = await runSerially(calculation, { numbers: 1_000, rows: 7 });
  const [head, ...rows] = Buffer.from(body).toString().trimEnd().split("\n");
  assert.equal(head, "number,steps,peak");
  assert.equal(contentType, "text/csv; charset=utf-8");
  assert.deepEqual(
    rows.map((row) => Number(row.split(",")[0])),
    Array.from({ length: 1_000 }, (_, at) => at + 1),
  );
  // Known values: oeis.org/A006577 and oeis.org/A025586.
  assert.equal(rows[26], "27,111,9232");
});

test("the table does not depend on how many rows a chunk has", async () => {
  const [one, other] = await Promise.all(
    [7, 300].map(async (rows) => (await runSerially(calculation, { numbers: 1_000, rows })).body),
  );
  assert.deepEqual(one, other);
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, { numbers: 1_000, rows: 7 }), []);
});
