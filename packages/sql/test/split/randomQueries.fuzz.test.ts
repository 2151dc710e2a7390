import { expect, test } from "vitest";
import { drawnSeed } from "../../../../test/support/drawnSeed.ts";
import { fuzzRuns } from "../../../../test/support/fuzzRuns.ts";
import { comparisonOf, drawFrom, questionsFrom, ratesSql, rowsSql } from "../randomQueries.ts";
import {
  foldedAnswer,
  type Rows,
  sameRows,
  unprunedAnswer,
  type World,
  wholeAnswer,
  worldOf,
} from "./foldedQuery.ts";

/** Questions over one table, before another is drawn. */
const perTable = 50;

test("a random question, in the steps of its split, has the answer of DuckDB over the whole table", async () => {
  const draw = drawFrom(drawnSeed ?? 1);
  const question = questionsFrom(draw);
  const ways = { aggregate: 0, rows: 0, gather: 0 };
  const seen = { asked: 0, notCompared: 0, refused: 0, refusedOfUnread: 0 };
  const differences: string[] = [];
  const { numRuns = 0 } = fuzzRuns(60, 1_000);
  let world: World | undefined;
  for (let run = 0; run < numRuns; run += 1) {
    if (run % perTable === 0) {
      world?.connection.closeSync();
      const [rows = 0, chunks] = [[0, 1, 30, 90, 200, 200, 200][draw(7)], 3 + draw(3)];
      const chunk = `least(${chunks - 1}, greatest(1, id * ${chunks} // ${rows + 1}))`;
      world = await worldOf(
        `select *, ${chunk} as chunk from (${rowsSql(rows, draw(1_000))})`,
        ratesSql,
        chunks,
      );
    }
    const query = question();
    const how = comparisonOf(query);
    seen.asked += 1;
    if (how === "none") seen.notCompared += 1;
    if (world === undefined || how === "none") continue;
    const whole = await wholeAnswer(query, world).catch((error: unknown) => String(error));
    const answer = await foldedAnswer(query, world).catch((error: unknown) => String(error));
    const shown = JSON.stringify({ query, whole, answer }, undefined, 1);
    if (typeof answer === "string") {
      seen.refused += 1;
      if (typeof whole === "string") continue;
      // DuckDB computes nothing for no rows, and meets no error in values that nothing needs.
      const unread = await unprunedAnswer(query.replace(/ limit 0\b/, " limit 1"), world).catch(String);
      if (typeof unread === "string") seen.refusedOfUnread += 1;
      else differences.push(shown);
      continue;
    }
    ways[answer.split.way] += 1;
    const isSame =
      typeof whole !== "string" &&
      (how === "rows" ? sameRows(answer.rows, whole) : sameRows(sorted(answer.rows), sorted(whole)));
    if (!isSame) differences.push(shown);
  }
  world?.connection.closeSync();
  console.log(`questions: ${JSON.stringify({ ...seen, ...ways, differences: differences.length })}`);
  expect(differences.join("\n")).toBe("");
  for (const count of Object.values(ways)) expect(count).toBeGreaterThan(numRuns / 50);
});

/** Doubles that were added in another order differ in their last digits, by which rows must not be sorted. */
const keyOf = (row: unknown): string =>
  JSON.stringify(row, (_name, value) => (typeof value === "number" ? value.toPrecision(7) : value));

const sorted = ([names = [], types = [], ...rows]: Rows): Rows => [
  ...[names, types],
  ...rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
];
