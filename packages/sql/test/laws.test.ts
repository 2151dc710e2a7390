import { test } from "vitest";
import { keepsEveryLaw } from "../../../test/support/keepsEveryLaw.ts";
import { memoryFiles } from "../../../test/support/memoryFiles.ts";
import { sql } from "../sql.ts";

const shops = ["north", "south", "east"];
const sales = Array.from({ length: 12_000 }, (_, row) => `${shops[row % 3]},${row % 7},${row / 8}\n`);
const tables = memoryFiles(
  new Map([1, 2].map((file) => [`data/${file}.csv`, `shop,k,price\n${sales.slice(file * 1_000).join("")}`])),
);

test("sql keeps every law", () => {
  const query =
    "select shop, count(*) n, sum(price) s, count(distinct k) d, avg(price / 3) m from data group by shop";
  return keepsEveryLaw(sql, { source: "data/", query, chunkBytes: 65_536 }, tables);
});
