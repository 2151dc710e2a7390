import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aggregate } from "../../../src/calculations/aggregate.ts";
import { runSerially } from "../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../src/calculations/params.ts";
import { lineitemCsv } from "../../support/lineitem.ts";
import { memoryFiles } from "../../support/memoryFiles.ts";
import { duckdb } from "./duckdb.ts";

/** Everything here is answered twice: by `aggregate`, and by DuckDB on the same files. */
let folder = "";
const content = new Map<string, Uint8Array | string>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "leasefold-aggregate-"));
  const keep = (name: string, text: string): void => {
    writeFileSync(join(folder, name), text);
    content.set(`data/${name}`, Buffer.from(text));
  };
  // Two files, so that a prefix is one table.
  keep("lineitem-1.csv", [...lineitemCsv(12_000, 1)].join(""));
  keep("lineitem-2.csv", [...lineitemCsv(8_000, 2)].join(""));
  keep("birdstrikes.csv", vega("birdstrikes.csv"));
  const flights = JSON.parse(vega("flights-20k.json")) as object[];
  keep("flights.ndjson", flights.map((flight) => `${JSON.stringify(flight)}\n`).join(""));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const vega = (name: string): string =>
  readFileSync(join(import.meta.dirname, "../../../node_modules/vega-datasets/data", name), "utf8");

async function ours(query: Record<string, string>): Promise<Record<string, unknown>[]> {
  const params = parseParams(aggregate, { chunkBytes: 300_000, ...query });
  const { body } = await runSerially(aggregate, params, memoryFiles(content, 50_000));
  return JSON.parse(Buffer.from(body).toString()).rows;
}

/** Texts and whole numbers must be equal, other numbers to 10^-12 relative: DuckDB rounds with every addition. */
function expectEqual(answers: readonly object[], truth: readonly object[]): void {
  expect(answers.length).toBe(truth.length);
  for (const [at, answer] of answers.entries()) {
    const [left, right] = [Object.values(answer), Object.values(truth[at] ?? {})];
    expect(left.length).toBe(right.length);
    for (const [place, value] of left.entries()) {
      const other = right[place];
      if (typeof value === "string") expect(value).toBe(String(other));
      else if (typeof value !== "number" || Number.isInteger(value)) expect(value).toEqual(other);
      else expect(Math.abs(value - Number(other))).toBeLessThanOrEqual(Math.abs(value) * 1e-12);
    }
  }
}

describe("order lines as in TPC-H", () => {
  const lineitem = (): string => `read_csv('${folder}/lineitem-*.csv')`;

  test("query 1", async () => {
    const answers = await ours({
      source: "data/lineitem",
      by: "returnflag,linestatus",
      where: "shipdate <= '1998-09-02'",
      aggregates:
        "sum(quantity),sum(extendedprice),sum(disc_price),sum(charge),mean(quantity),mean(extendedprice)," +
        "mean(discount),count",
    });
    const truth = await duckdb(
      `select returnflag, linestatus, sum(quantity)::double, sum(extendedprice::decimal(18,6))::double,
        sum(disc_price::decimal(18,6))::double, sum(charge::decimal(18,6))::double, avg(quantity),
        avg(extendedprice::double), avg(discount::double), count(*)
      from ${lineitem()} where shipdate <= date '1998-09-02' group by all order by all`,
    );
    expect(answers.length).toBe(4);
    expectEqual(answers, truth);
  });

  test("spread, extremes and counts of many groups", async () => {
    const answers = await ours({
      source: "data/lineitem",
      by: "shipmode,linenumber",
      where: "discount >= 0.05 and shipinstruct not in ('NONE') or quantity < 3",
      aggregates:
        "count,variance(extendedprice),stddev(charge),min(tax),max(extendedprice),mintext(shipdate),maxtext(comment)",
    });
    const truth = await duckdb(
      `select shipmode, linenumber, count(*), variance(extendedprice::double), stddev(charge::double), min(tax),
        max(extendedprice), min(shipdate)::varchar, max(comment)
      from ${lineitem()} where discount >= 0.05 and shipinstruct not in ('NONE') or quantity < 3
      group by all order by shipmode, linenumber`,
    );
    expect(answers.length).toBe(49);
    expectEqual(answers, truth);
  });

  test("quantiles are within 1/128 of the exact ones, distinct within three standard errors", async () => {
    const answers = await ours({
      source: "data/lineitem",
      by: "shipmode",
      aggregates:
        "p1(extendedprice),p50(extendedprice),quantile(extendedprice,0.999),distinct(partkey),distinct(suppkey)",
    });
    const truth = await duckdb(
      `select shipmode, quantile_disc(extendedprice::double, [0.01, 0.5, 0.999]) as q, count(distinct partkey) as p,
        count(distinct suppkey) as s from ${lineitem()} group by all order by all`,
    );
    expect(answers.length).toBe(7);
    for (const [at, answer] of answers.entries()) {
      const [mode, low, middle, high, parts, suppliers] = Object.values(answer) as [string, ...number[]];
      const { shipmode, q, p, s } = truth[at] as { shipmode: string; q: number[]; p: number; s: number };
      expect(mode).toBe(shipmode);
      for (const [place, value] of [low, middle, high].entries()) {
        const exact = Number(q[place]);
        expect(Math.abs((value as number) - exact)).toBeLessThanOrEqual(exact / 128);
      }
      expect(Math.abs((parts as number) - p)).toBeLessThan(3 * 0.01625 * p);
      expect(Math.abs((suppliers as number) - s)).toBeLessThan(3 * 0.01625 * s);
    }
  });
});

describe("data that other people made", () => {
  const birds = (): string => `read_csv('${folder}/birdstrikes.csv')`;

  test("birdstrikes by size and time of day", async () => {
    const answers = await ours({
      source: "data/birdstrikes.csv",
      by: "Wildlife Size, Time of day",
      aggregates:
        "count,count(Speed IAS in knots),sum(Cost Total $) as cost,mean(Speed IAS in knots),stddev(Speed IAS in knots)",
      where: "\"Effect Amount of damage\" != 'None'",
    });
    const truth = await duckdb(
      `select "Wildlife Size", "Time of day", count(*), count("Speed IAS in knots"), sum("Cost Total $")::double,
        avg("Speed IAS in knots"), stddev("Speed IAS in knots")
      from ${birds()} where "Effect Amount of damage" != 'None' group by all order by 1 nulls first, 2 nulls first`,
    );
    expectEqual(answers, truth);
    expect(answers.length).toBeGreaterThan(5);
  });

  test("the birds most often met in each phase of flight", async () => {
    const answers = await ours({
      source: "data/birdstrikes.csv",
      by: "Phase of flight",
      aggregates: "top(Wildlife Species,3) as birds",
    });
    const truth = await duckdb(
      `with counted as (
        select "Phase of flight" as phase, "Wildlife Species" as bird, count(*) as n from ${birds()}
        where "Wildlife Species" is not null group by all)
      select phase, bird, n from counted
      qualify row_number() over (partition by phase order by n desc, bird) <= 3
      order by phase nulls first, n desc, bird`,
    );
    const flat = answers.flatMap(({ birds: top, ...key }) =>
      (top as { value: string; count: number }[]).map(({ value, count }) => [
        Object.values(key)[0],
        value,
        count,
      ]),
    );
    expect(flat).toEqual(truth.map(({ phase, bird, n }) => [phase, bird, n]));
  });

  test("flights by origin, from NDJSON", async () => {
    const answers = await ours({
      source: "data/flights.ndjson",
      by: "origin",
      where: "distance > 500 and delay is not null",
      aggregates: "count,sum(distance),mean(delay),variance(delay),min(delay),max(delay),mintext(date)",
    });
    const truth = await duckdb(
      `select origin, count(*), sum(distance)::double, avg(delay), variance(delay), min(delay), max(delay),
        min("date")
      from read_json('${folder}/flights.ndjson', format = 'newline_delimited', columns = {date: 'varchar',
        delay: 'double', distance: 'double', origin: 'varchar', destination: 'varchar'})
      where distance > 500 group by all order by origin`,
    );
    expectEqual(answers, truth);
    expect(answers.length).toBeGreaterThan(100);
  });
});
