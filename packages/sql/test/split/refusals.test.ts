import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InputError } from "../../../../src/engine/model/errors.ts";
import { fuzzRuns } from "../../../../test/support/fuzzRuns.ts";
import { splitQuery } from "../../split/splitQuery.ts";

const split = (query: string) => splitQuery(query, { tables: ["rates"] });

describe("a query that does not decompose is refused with the reason", () => {
  test.each([
    [
      "select id, sum(n) over (order by id) from data",
      /window function over rows of data needs all rows in one place\. Use it over groups/,
    ],
    ["select * from data qualify row_number() over () = 1", /window function over rows/],
    ["select a.id from data a join data b on a.id = b.id", /joins data with itself/],
    ["select * from data where x > (select avg(x) from data)", /two passes over data/],
    ["select * from data where k in (select k from data group by k)", /two passes/],
    ["with m as (select max(x) x from data) select count(*) from data join m using (x)", /two passes/],
    [
      "select count(*) from rates left join data using (k)",
      /left join needs all rows .* Put data on the left/,
    ],
    ["select count(*) from data full join rates using (k)", /full join/],
    ["select count(*) from data positional join rates", /join needs all rows/],
    [
      "with g as (select k, count(*) n from data group by k) select * from g join rates using (k)",
      /Join it with data before/,
    ],
    ["select k, x from data group by k", /column x must be in GROUP BY/],
    ["select sum(count(*)) from data", /aggregate within/],
    ["select approx_top_k(x, 3) from data", /approx_top_k does not decompose/],
    ["select *, count(*) from data group by all", /Name the columns/],
    ["select k, count(*) from data group by 7", /GROUP BY 7: there are 2 columns/],
    ["select 1", /reads nothing of data/],
    ["select approx_quantile(x, [0.1, 0.5]) from data", /one number between 0 and 1/],
  ])("%s", async (query, reason) => {
    await expect(split(query)).rejects.toThrow(InputError);
    await expect(split(query)).rejects.toThrow(reason);
  });
});

describe("hostile SQL is refused before anything runs", () => {
  test.each([
    ...[
      "copy (select 1) to '/tmp/x'",
      "copy data from '/etc/passwd'",
      "attach '/tmp/x.db'",
      "install httpfs",
      "load httpfs",
    ],
    ...[
      "set threads = 9",
      "reset all",
      "pragma database_list",
      "checkpoint",
      "create table t as select 1",
      "drop view data",
    ],
    ...[
      "insert into data values (1)",
      "export database 'x'",
      "call pragma_version()",
      "explain analyze select 1",
      "use x",
    ],
    ...[
      "select 1; select 2",
      "",
      ";",
      "show tables",
      "describe data",
      "summarize data",
      "prepare p as select 1",
    ],
    ...[
      "select * from read_csv('/etc/passwd')",
      "select * from read_text('/etc/passwd')",
      "from '/etc/passwd'",
      "from 'data.csv'",
    ],
    ...[
      "from read_parquet('https://example.com/x.parquet')",
      "from 's3://bucket/x'",
      "from glob('/*')",
      "from sniff_csv('/etc/passwd')",
    ],
    ...[
      "select count(*) from data, read_blob('/proc/self/environ')",
      "select (select content from read_text('/etc/hostname')) from data",
    ],
    ...[
      "from duckdb_settings()",
      "from duckdb_secrets()",
      "from information_schema.tables",
      "from pg_catalog.pg_tables",
      "from sqlite_master",
    ],
    ...[
      "from query('select 1')",
      "from query_table('data')",
      "from json_execute_serialized_sql('{}')",
      "from main.data",
      "from memory.main.data",
    ],
    ...[
      "select getenv('HOME') from data",
      "select current_setting('memory_limit') from data",
      "select getvariable('x') from data",
    ],
    ...[
      "select random() from data",
      "select uuid() from data",
      "select now() from data",
      "select current_date from data",
      "select current_timestamp from data",
    ],
    ...[
      "select nextval('s') from data",
      "select setseed(0.5) from data",
      "select sleep_ms(1000) from data",
      "select write_log('x') from data",
    ],
    ...[
      "select pg_conf_load_time() from data",
      "select ago(1) from data",
      "select pg_sleep(60) from data",
      "select age(timestamp '2020-01-01') from data",
      "select current_localtimestamp() from data",
      "select current_localtime from data",
    ],
    ...[
      "select pg_get_viewdef(1) from data",
      "select pg_get_constraintdef(1) from data",
      "select get_block_size('memory') from data",
      "select format_type(1, 1) from data",
      "select json_serialize_plan('from sqlite_master') from data",
    ],
    // A name means a common table expression only where that is in scope.
    ...[
      "with sqlite_master as (from sqlite_master) select * from data, sqlite_master",
      "with a as (from duckdb_settings), duckdb_settings as (select 1 as x) select * from data, a, duckdb_settings",
      "select * from data, (with duckdb_tables as (select 1 as x) from duckdb_tables) a, duckdb_tables",
      "select * from data where a in (with rates2 as (select 1 as x) select x from rates2) union all from rates2",
    ],
    ...["with recursive r as (select 1 union all select * from r) select * from r, data"],
    ...[
      "select * from data using sample 10",
      "from data tablesample 10%",
      "select $1 from data",
      "select ? from data",
    ],
    ...[
      "select repeat('x', 1000000000) from data",
      "select repeat(repeat('x', 100000), 100000) from data",
      "select range(1000000000) from data",
    ],
    ...[
      "select lpad('x', 2000000000, 'y') from data",
      "select repeat('x', 1000 * 1000 * 1000) from data",
      "select repeat('x', n) from data",
    ],
    ...[
      "select finalize(x) from data",
      "select error(secret) from data",
      "select count(*) export_state from data",
    ],
    ...[
      `select ${"-".repeat(1)}${"abs(".repeat(3_000)}1${")".repeat(3_000)} from data`,
      `select ${"1+".repeat(20_000)}1 from data`,
    ],
    ...[
      `select ${"not ".repeat(9_000)}true from data`,
      `select ${"[".repeat(3_000)}1${"]".repeat(3_000)} from data`,
    ],
    ...[`${"select * from (".repeat(2_000)}from data${")".repeat(2_000)}`],
  ])("%#: %.60s", async (query) => {
    await expect(split(query)).rejects.toThrow(InputError);
  });
});

test("any text is either split or refused, and never fails otherwise", async () => {
  const words = fc.constantFrom(
    ..."select from data where group by order limit having with as ( ) , * count(*) sum(x) x k 1 'a' union all join on using over partition".split(
      " ",
    ),
    ...[
      "distinct",
      "filter",
      "case when then end",
      "lambda",
      "->",
      "::int",
      "rates",
      "\0",
      "é",
      "$1",
      "--",
      "/*",
      ";",
      "unnest(x)",
      "grouping sets",
      "()",
    ],
  );
  const queries = fc.oneof(
    fc.array(words, { maxLength: 20 }).map((all) => all.join(" ")),
    fc.array(words, { maxLength: 12 }).map((all) => `select ${all.join(" ")} from data`),
    fc.string({ unit: "binary", maxLength: 60 }),
  );
  const outcomeOf = (query: string) =>
    split(query).then(
      ({ map }) => /\bdata\b/.test(map),
      (error: unknown) => error instanceof InputError,
    );
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      expect(await outcomeOf(query)).toBe(true);
    }),
    fuzzRuns(400),
  );
});
