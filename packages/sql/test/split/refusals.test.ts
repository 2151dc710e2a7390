import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InputError, LeasefoldError } from "../../../../src/engine/model/errors.ts";
import { fuzzRuns } from "../../../../test/support/fuzzRuns.ts";
import { splitQuery } from "../../split/splitQuery.ts";
import type { Schema } from "../../split/splitSteps.ts";
import { knownFunctions } from "../../split/syntax.ts";

const schema: Schema = {
  columns: [
    ["id", "BIGINT"],
    ["k", "VARCHAR"],
    ["x", "DOUBLE"],
    ["n", "BIGINT"],
  ],
  tables: { rates: [["k", "VARCHAR"]] },
};
const split = (query: string) => splitQuery(query, schema);

describe("a query that is not taken is refused with the reason", () => {
  test.each([
    ["select 1", /reads nothing of data/],
    ["summarize data", /describe, show and summarize are not taken: a query is a SELECT/],
    ["select * from (describe data)", /describe, show and summarize are not taken/],
    ["select * from nothing", /there is no table nothing: tables are data, rates/],
    [
      "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select * from t",
      /reads nothing of data/,
    ],
    ["with recursive t as (select n from t) select * from t, data", /there is no table t/],
    [
      "with recursive t as (select 1 as n union all select k from t, other) select * from t, data",
      /no table other/,
    ],
    ["pivot data on k using sum(x)", /a pivot only with its values in IN/],
    [
      "select rowid from data a where exists (select 1 from data b where b.x > a.x)",
      /rowid is no column of files/,
    ],
    ["select reservoir_quantile(x, 0.5) from data", /another answer each time/],
    ...[
      "select json_structure(k) from data",
      "select json_group_structure(k) from data",
      "select JSON_Contains(k, '1') from data",
      "select json_merge_patch(k, k) from data",
      "select k::json::variant from data",
      "select try_cast(k::json as variant) from data",
      "select [k::json]::variant[] from data",
    ].map((one) => [one, /is not taken: it recurses, so that a value that nests deeply/] as [string, RegExp]),
  ])("%s", async (query, reason) => {
    await expect(split(query)).rejects.toThrow(InputError);
    await expect(split(query)).rejects.toThrow(reason);
  });
  test.each([
    ["select k, x from data group by k", /must appear in the GROUP BY clause/],
    ["select sum(count(*)) from data", /aggregate function calls cannot be nested/],
    ["select k, count(*) from data group by 7", /GROUP BY term out of range/],
  ])("%s: in DuckDB's words", async (query, reason) => {
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
    ...[
      "with recursive sqlite_master as (from sqlite_master union all from sqlite_master) from sqlite_master, data",
      "with recursive r as (select 1 union all from duckdb_settings(), r) from r, data",
      "with recursive r as (select 1 union all select random() from r) from r, data",
      "select * from data, recurring.sqlite_master",
    ],
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
      ({ cuts }) => cuts.some(({ chunk }) => /\bdata\b/.test(chunk)),
      (error: unknown) => error instanceof LeasefoldError,
    );
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      expect(await outcomeOf(query)).toBe(true);
    }),
    fuzzRuns(400),
  );
});

/** A query around another, so many times. */
function nested(
  levels: number,
  around: (inner: string) => string,
  innermost = "select k as r from data",
): string {
  return levels === 0 ? innermost : around(nested(levels - 1, around, innermost));
}

test.each([
  ...[
    "select printf('%50000000d', 1) from data",
    "select printf('%.50000000f', 1.5) from data",
    "select printf('%-50000000s', 'a') from data",
    "select printf('%*d', 50000000, 1) from data",
    "select printf('%50000d%50000d%50000d', 1, 2, 3) from data",
    "select printf('%5' || '0000000d', 1) from data",
    "select printf(g, 1) from data",
  ],
  ...[
    "select format('{:>50000000}', 'a') from data",
    "select format('{:.50000000f}', 1.5) from data",
    "select format('{:{}}', 'a', 50000000) from data",
    "select format('{{{:50000000}', 1) from data",
    "select bitstring('1', 50000000) from data",
    "select bitstring_agg(x, 0, 50000000) from data",
    "select equi_width_bins(0, 10, 1000000, false) from data",
    "select list_resize([1], 50000000) from data",
  ],
  ...[
    "select list_transform(range(100000), i -> repeat('a', 100000)) from data",
    "select [repeat('a', 100000) for i in range(100000)] from data",
    "select replace(repeat('a', 100000), 'a', repeat('b', 100000)) from data",
    "select array_to_string(range(100000), repeat(',', 100000)) from data",
    "select list_reduce(range(40), (a, b) -> a || a, k) from data",
    "select list_reduce(range(40), lambda a, b: replace(a, 'x', A), k) from data",
    "select list_reduce(range(40), (a, b) -> hex(a), k) from data",
    "select list_reduce([[n], [n]], (a, b) -> a + a) from data",
    "select repeat(lpad(k, 1000, ' '), 1000) from data",
  ],
  ...[
    "select repeat(r, 100000) from (select repeat('a', 100000) as r from data)",
    "with a as (select repeat('a', 1000) as r from data), b as (select repeat(r, 1000) as s from a) select s from b",
    "with a as (select repeat('a', 9999) as r from data), b as (select repeat('b', 9999) as s from data) select replace(r, 'a', s) from a, b",
    "select repeat((select repeat('a', 100000)), 100000) from data",
    "select repeat(u, 100000) from data, unnest([repeat('a', 100000)]) t(u)",
    "select bitstring_agg(n, 0, 50000000) over () from data",
    "select n from data, unnest(range(1000000000)) t(u)",
  ],
  ...[
    "with recursive t as (select k from data union all select repeat(k, 9) from t) select * from t",
    "with recursive t as (select k from data union all select replace(k, 'a', k) from t) select * from t",
    "with recursive t as (select k from data union all select k || k || k || k || k || k from t) select * from t",
    "with recursive t as (select k from data union all select k || 'x' from t) select repeat(k, 9999) from t",
    nested(18, (inner) => `select r || r as r from (${inner})`),
    nested(18, (inner) => `select concat_ws('-', q.r, q.r) as r from (${inner}) q`),
    nested(18, (inner) => `select a || b as a, b || a as b from (${inner}) q(a, b)`, "select k, k from data"),
    nested(18, (inner) => `select [r, r] as r from (${inner})`),
    nested(18, (inner) => `select #1 || #1 as r from (${inner})`),
    nested(18, (inner) => `select q as a, q as b from (${inner}) q`),
    nested(18, (inner) => `select struct_pack(a := *columns(*), b := 1) as a, *  from (${inner}) q`),
    nested(18, (inner) => `select r + r as r from (${inner})`, "select [n] as r from data"),
    nested(
      4,
      (inner) => `select replace(r, 'a', r) as r from (${inner})`,
      "select 'aaaaaaaaaa' as r from data",
    ),
    nested(
      4,
      (inner) => `select list_transform(r, x -> r) as r from (${inner})`,
      "select [n, n] as r from data",
    ),
    nested(
      4,
      (inner) => `select list_transform(r, x -> list_transform(x, y -> x)) as r from (${inner})`,
      "select [[k]] as r from data",
    ),
    nested(4, (inner) => `select array_to_string(string_split(r, ''), r) as r from (${inner})`),
    nested(4, (inner) => `select replace(r, 'a', '${"a".repeat(64)}') as r from (${inner})`),
    nested(18, (inner) => `select format('{0}{0}', r) as r from (${inner})`),
    `select ${"hex(".repeat(18)}k${")".repeat(18)} from data`,
    `select ${"bin(".repeat(6)}k${")".repeat(6)} from data`,
    `select ${"to_json(".repeat(18)}k${")".repeat(18)} from data`,
    `select ${"encode(".repeat(6)}k${")::bit::varchar".repeat(6)} from data`,
    `select ${"list_transform(".repeat(18)}[k]${", x -> x || x)".repeat(18)} from data`,
    `select ${"[".repeat(18)}k${"]::varchar".repeat(18)} from data`,
    `select k || k as a0, ${Array.from({ length: 18 }, (_, i) => `a${i} || a${i} as a${i + 1}`).join(", ")} from data`,
    `with ${Array.from({ length: 18 }, (_, i) => `c${i + 1} as (select r || r as r from c${i})`)
      .join(", ")
      .replace("from c0", "from (select k as r from data)")} select r from c18`,
    `select r18 from (select k as r0 from data), ${Array.from({ length: 18 }, (_, i) => `(select r${i} || r${i} as r${i + 1})`).join(", ")}`,
  ],
])("a value that constants make large is refused: %s", async (query) => {
  await expect(split(query)).rejects.toThrow(
    /^query: .*(as it makes one value of that size|as that says how large its value is|may make one large value|make one large value of another)/,
  );
});

test.each([
  "select lpad(k, 10, '0') || lpad(k, 12, '0') || rpad(k, 20, '-'), lpad(lpad(k, 5, ' '), 9, ' ') from data",
  "select printf('%05d %-20s in 20261128', x, k), format('{:>10} {{20261128}}', k) from data",
  "select substr(k, 1, 1000000), x + 1000000 from data",
  "with a as (select lpad(k, 40, ' ') as k from data), b as (select lpad(k, 40, ' ') as k from a) select lpad(k, 40, ' ') from b",
  "select lpad(k, 20, ' ') from data, unnest(range(90000)) t(u)",
  "select list_reduce([n, 2], (a, b) -> case when a > b then a * b + b else greatest(a, b) end) from data",
  "select list_reduce([k, 'x'], (a, b) -> a || b) from data",
  "select list_transform(range(24), i -> repeat('a', 30)) from data",
  "select [[i * j for j in range(12)] for i in range(12)], list_transform([k], x -> x || n) from data",
  "select list_transform([x, 2], a -> list_transform([n, 3], b -> a + b * 2)) from data",
  "select list_sum(list_transform([n], v -> v + x)) as x, sum(n) from data group by list_sum(list_transform([n], v -> v + x))",
  "select k || '-' || k || '-' || x || n as key, sum(x + n * 2) + sum(n) from data group by all",
  nested(
    12,
    (inner) => `select sum(x) + sum(n) * 2 as x, max(n) as n, lower(r) as r from (${inner}) group by all`,
    "select x, n, k as r from data",
  ),
  nested(
    8,
    (inner) =>
      `select concat(r, '-', n) as r, n, case when r like 'a%' then upper(r) else r end as s from (${inner})`,
    "select k as r, n from data",
  ),
  "with recursive t as (select id, k as p from data where n = 1 union all select d.id, t.p || '/' || d.k from data d join t on d.n = t.id) select upper(p) || '.', id from t",
  "with recursive t(a, b) as (select 0, 1 union all select b, a + b from t where b < 99) select sum(a) from t, data",
  `select ${"replace(".repeat(20)}k${", 'ab', 'xy')".repeat(20)} from data`,
  `select ${"replace(".repeat(5)}k${", '&', '&amp;')".repeat(5)} from data`,
  "select lower(trim(regexp_replace(strip_accents(k), '[^a-z0-9]+', '-', 'g'))) from data",
  `with ${Array.from({ length: 20 }, (_, i) => `c${i} as (select k || '-' || n as r from data)`).join(", ")} select c0.r || c19.r from c0, c19`,
])("what makes no large value is taken: %s", async (query) => {
  await expect(split(query)).resolves.toBeDefined();
});

test("DuckDB has no function with a number among its arguments that nobody has judged", async () => {
  const { growing } = await knownFunctions();
  expect([...growing].sort()).toEqual([
    ...["approx_top_k", "bitstring", "bitstring_agg", "equi_width_bins", "generate_series", "lpad", "range"],
    ...["repeat", "rpad"],
  ]);
});
