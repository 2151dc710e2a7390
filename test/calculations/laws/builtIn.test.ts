import { expect, test } from "vitest";
import { loadCalculations } from "../../../src/calculations/registry.ts";
import type { Files } from "../../../src/engine/calculation/files.ts";
import { checkLaws } from "../../../src/engine/calculation/laws/checkLaws.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { memoryFiles } from "../../support/memoryFiles.ts";

interface Entry {
  readonly params: Readonly<Record<string, unknown>>;
  readonly files?: Files;
}

const shops = ["north", "south", "east"];
const sales = Array.from({ length: 12_000 }, (_, row) => `${shops[row % 3]},${row % 7},${row / 8}\n`);
const tables = memoryFiles(
  new Map([1, 2].map((file) => [`data/${file}.csv`, `shop,k,price\n${sales.slice(file * 1_000).join("")}`])),
);

/** Small, and still of three chunks and more. */
const entries: Readonly<Record<string, Entry>> = {
  primes: { params: { to: 3e8 } },
  sql: {
    params: {
      source: "data/",
      query:
        "select shop, count(*) n, sum(price) s, count(distinct k) d, avg(price / 3) m from data group by shop",
      chunkBytes: 65_536,
    },
    files: tables,
  },
};

const known = await loadCalculations([]);

test("every built-in calculation has an entry here", () => {
  expect(Object.keys(entries).sort()).toEqual(
    known
      .list()
      .map(({ name }) => name)
      .sort(),
  );
});

test.each(Object.entries(entries))("%s keeps every law", async (name, { params, files }) => {
  const calculation = known.get(name);
  const options = { chunks: 6, clock: systemClock, ...(files === undefined ? {} : { files }) };
  const parsed = known.parseParams(calculation, params);
  const { findings, result, chunks } = await checkLaws(calculation, parsed, options);
  expect(findings.filter(({ outcome }) => outcome === "broken" || outcome === "unchecked")).toEqual([]);
  expect(result).toBeDefined();
  expect(chunks).toBeGreaterThanOrEqual(3);
});
