import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { duckdb } from "../support/duckdb.ts";
import { lineitemCsv } from "../support/lineitem.ts";

/** Query 1 of TPC-H. */
const pricing = `
  select returnflag, linestatus, sum(quantity) as quantity, sum(extendedprice) as price,
    sum(extendedprice * (1 - discount)) as discounted, sum(extendedprice * (1 - discount) * (1 + tax)) as charge,
    avg(quantity) as meanQuantity, avg(extendedprice) as meanPrice, avg(discount) as meanDiscount, count(*) as lines
  from data where shipdate <= date '1998-09-02' group by all order by all`;

/** Query 6 of TPC-H. */
const revenue = `
  select sum(extendedprice * discount) as revenue from data
  where shipdate >= date '1994-01-01' and shipdate < date '1995-01-01' and discount between 0.05 and 0.07 and quantity < 24`;

/** Queries by name, and the table that each reads: two of TPC-H, and group-bys of the shapes of ClickBench. */
export const queries: Readonly<
  Record<string, { readonly table: "lineitem" | "hits"; readonly query: string }>
> = {
  q1: { table: "lineitem", query: pricing },
  q6: { table: "lineitem", query: revenue },
  engines: {
    table: "hits",
    query: "select engine, count(*) as n from data where engine <> 0 group by all order by n desc, engine",
  },
  regions: {
    table: "hits",
    query: `select region, sum(engine) as s, count(*) as n, avg(width) as w, count(distinct visitor) as visitors
      from data group by all order by n desc, region limit 10`,
  },
  phrases: {
    table: "hits",
    query:
      "select phrase, count(*) as n from data where phrase <> '' group by all order by n desc, phrase limit 10",
  },
  visitors: {
    table: "hits",
    query: "select visitor, count(*) as n from data group by all order by n desc, visitor limit 10",
  },
  pages: {
    table: "hits",
    query: `select phrase, min(url) as url, count(*) as n from data where url like '%shop%' and phrase <> ''
      group by all order by n desc, phrase limit 10`,
  },
};

export const formats = ["csv", "ndjson", "parquet"] as const;

/**
 * Writes both tables in each format as `{table}.{format}`: some 70 MB of CSV per 500,000 rows. Parquet has four times the rows,
 * of which DuckDB reads as many in a tenth of the time.
 */
export async function writeTables(folder: string, rows: number): Promise<void> {
  const path = (table: string, format: string): string => join(folder, `${table}.${format}`);
  await pipeline(Readable.from(lineitemCsv(rows)), createWriteStream(path("lineitem", "csv")));
  for (const format of formats) {
    const times = format === "parquet" ? 4 : 1;
    const lineitem = `select l.* from read_csv('${path("lineitem", "csv")}') l, range(${times})`;
    for (const [table, from] of [
      ["lineitem", lineitem],
      ["hits", hits(times * rows)],
    ] as const) {
      if (table === "lineitem" && format === "csv") continue;
      const how = { csv: "csv, header", ndjson: "json", parquet: "parquet" }[format];
      await duckdb(`copy (${from}) to '${path(table, format)}' (format ${how})`);
    }
  }
}

/** Page views with skewed visitors, regions and phrases, most of which are empty; made up, and the same each time. */
const hits = (rows: number): string => `
  with drawn as (select i, hash(i, 1) / 18446744073709551616::double as a, hash(i, 2) / 18446744073709551616::double as b,
    hash(i, 3) / 18446744073709551616::double as c from range(${rows}) as t(i))
  select (hash(i) >> 1)::bigint as watch, timestamp '2013-07-01' + to_seconds((i * 5)::bigint) as at,
    (date '2013-07-01' + (i * 5 // 86400)::integer) as day, (pow(a, 4) * 6000)::integer as counter,
    (pow(b, 3) * 5000)::integer as region, (hash((pow(c, 2) * ${rows} / 5)::bigint) >> 1)::bigint as visitor,
    if(a < 0.97, 0, (pow(b, 2) * 18)::integer) as engine, [1280, 1366, 1440, 1638, 1920][1 + (b * 4.99)::integer] as width,
    if(c < 0.8, '', 'how to ' || (pow(a, 3) * ${rows} / 10)::integer || ' in town ' || (b * 40)::integer) as phrase,
    'http://' || ['shop', 'news', 'mail', 'maps'][1 + (a * 3.99)::integer] || '.example/' || (pow(b, 2) * ${rows} / 5)::integer
      || '/index.html?id=' || hash(i, 4) as url, (a < 0.1)::integer as refresh
  from drawn`;
