import { beforeAll, describe, expect, test } from "vitest";
import { parseParams } from "../../../../src/engine/calculation/params.ts";
import type { SqlParams } from "../../params.ts";
import { rules } from "../../split/rules.ts";
import { splitQuery } from "../../split/splitQuery.ts";
import type { Schema } from "../../split/splitSteps.ts";
import { sql } from "../../sql.ts";
import { statementsOf } from "../../statements.ts";
import {
  foldedAnswer,
  foldSplit,
  type Rows,
  sameRows,
  trips,
  type World,
  wholeAnswer,
} from "./foldedQuery.ts";

let world: World;
beforeAll(async () => {
  world = await trips();
});

/** Each is answered by DuckDB over the whole table, and by its steps over five chunks. */
const questions = `
select month(pickup) m, zone, count(*) n, sum(total) s from data group by all order by s desc, m, zone limit 10
select zone, sum(price) from data group by zone order by 2 desc nulls last limit 10
select count(*), sum(n), avg(n), min(n), max(n), avg(price), avg(total) from data
select zone, count(*) / sum(count(*)) over () as share from data group by zone order by zone
select count(*) from data where zone = 'nope'
select min(total), sum(total), avg(total), first(total), median(total), count(distinct zone), list(zone order by zone) from data where zone = 'nope'
select zone z, count(n) c from data group by z having c > 3 order by c, z
select zone, count(*) filter (where flag) f, sum(case when flag then n else 0 end) s from data group by 1 order by all
select zone, median(total), quantile_cont(total, 0.9), quantile_disc(n, [0.1,0.5]), mode(n%2), mad(n) from data group by all order by 1
select zone, var_pop(total), stddev(n), variance(price), stddev_pop(n), var_samp(n), corr(n,total), covar_pop(n,total), covar_samp(n,total), regr_slope(n,total), regr_intercept(n,total) from data group by all order by 1
select zone, count(distinct n), sum(distinct n), string_agg(distinct zone, '-') from data group by all order by 1
select zone, arg_min(id, total), arg_max(id, n), max_by(zone, price), arg_min(n,id,3) from data group by all order by 1
select zone, first(id order by total, id), last(n order by id), first(n), last(id), any_value(n) from data group by all order by 1
select flag, bool_and(n>3), bool_or(n>40), bit_xor(id), product(n/10), histogram(n%3) from data group by all order by 1
select zone, string_agg(id::varchar, ',' order by total desc, id), list(n order by id desc) from data group by all order by 1
select month(pickup)//3 q, sum(n) + count(*) * 2 as v, round(avg(total), 1) a from data group by month(pickup)//3 order by q
select name, sum(total * rate) from data join rates using (zone) group by name order by name
select r.name, count(*) from data d left join rates r on d.zone = r.zone group by r.name order by all
select d.zone, count(*) from data d where d.zone in (select zone from rates) group by zone order by zone
with g as (select zone, sum(n) s from data group by zone) select zone, s, rank() over (order by s desc) r, s * 100.0 / sum(s) over () p from g order by r
with t as (select *, n * 2 as nn from data where flag), u as (select zone, nn from t) select zone, sum(nn) from u group by zone order by zone
select zone, flag, grouping(zone), grouping(zone, flag) g, sum(n) from data group by rollup (zone, flag) order by all
select zone, flag, count(*) from data group by grouping sets ((zone),(flag),()) order by all
select zone, flag, count(*) from data group by cube (zone, flag) order by all
select zone, flag, first(n), last(n), any_value(n), arg_min(n, zone), arg_max(n, flag) from data group by rollup (zone, flag) order by all
select zone, flag, last(n) from data group by grouping sets ((zone, flag), (flag, zone)) order by all
select distinct zone, flag from data order by zone, flag
select distinct zone from data order by 1 limit 2
select id, zone from data order by total desc, id limit 7 offset 2
select id, total as t from data where flag order by t, id
select id from data order by id % 7, id limit 5
select * from data order by id limit 3
select zone, total from data where n > 10 limit 5
select distinct on (zone) zone, id from data order by zone, total, id
select j.s.t as t, max(j.k) from data group by all order by all
select tag, count(*) from (select unnest(tags) tag from data) group by tag order by tag
select tag, count(*) from data, unnest(tags) u(tag) group by tag order by tag
select avg(c) from (select zone, count(*) c from data group by zone)
select count(*) from (select distinct zone, flag from data)
select zone, n / (select sum(n) from data) as share from (select zone, sum(n) n from data group by zone) order by zone
with a as (select count(*) c from data where flag), b as (select count(*) c from data) select a.c, b.c, a.c / b.c from a, b
select zone, count(*) c from data group by zone union all select 'all', count(*) from data order by all
select date_trunc('month', pickup) as month, count(*) from data group by month order by month
select lower(zone) as zone, count(*) from data group by all order by 1
select zone, sum(n) as total from data group by zone order by total desc, zone
select zone, max(total) - min(total) as spread from data group by zone qualify row_number() over (order by spread desc, zone) <= 2 order by spread desc, zone
select count_if(flag), countif(n > 3), sum(flag::int) from data
select list_sort(list(distinct zone)) from data
select zone, entropy(n), skewness(n), kurtosis(n), sem(n) from data group by all order by 1
select count(*) n, n from data group by n order by all
select max(id) + 9007199254740993 from data
select sum(n) s, s * 2 as t from data
select row_number() over (order by count(*) desc, zone) r, zone from data group by zone order by r
from data select zone, count() group by zone order by all
select extract(year from pickup) y, count(*) from data group by y order by y
select zone, min(n, 2), max(n, 2) from data group by zone order by zone
select zone from data group by zone order by count(*) desc, zone
select zone, count(*) from data group by zone order by count(*) desc, zone limit 2
select case when total > 10 then 'hi' else 'lo' end as bucket, count(*) from data group by bucket order by bucket
select sum(n) filter (where n > 3) / nullif(count(*) filter (where flag), 0) from data
select time_bucket(interval 30 days, pickup) b, avg(n) from data group by b order by b
select first(n), last(n), first(zone) from data
with recursive t(d) as (select 1 union all select d + 1 from t where d < 5) select d, sum(n), count(*) from t join data on id % 5 < d group by d order by d
with recursive t as (select id, zone as path, 1 as depth from data where id < 3 and zone is not null union all select d.id, t.path || '/' || coalesce(d.zone, '-'), depth + 1 from data d join t on d.id = 3 * t.id + 1) select * from t order by path, id
with recursive t as (select id from data where id = 7 union select (a.id * 3 + b.n) % 200 from t a join data b using (id) where n is not null) select count(*), sum(id) from t
with recursive t(id, least) as (select id % 9, total from data where id < 40), u as (select max(least) m from t) select m, id from t, u order by all
with recursive a(v) as (select 1 union all select v * 2 from a where v < 60), b(w) as (select v from a union select w + 1 from b where w % 4 > 0) select w, (select sum(price) from data where id < w) from b order by w
with recursive t(k, v) using key (k) as (select id % 7, total from data where id < 20 union select t.k, t.v + 1 from t join recurring.t r using (k) where r.v < 30) select k, v from t order by k
with recursive t(n) as (select max(id) from data union all select n // 2 from t where n > 0), g as (select flag, count(*) c from data group by flag) select * from t, g order by all
`
  .trim()
  .split("\n");

describe("the steps of a query answer as DuckDB does over all rows", () => {
  test.each(questions)("%s", async (query) => {
    const whole = await wholeAnswer(query, world);
    const { rows, split } = await foldedAnswer(query, world);
    expect(whole.length).toBeGreaterThan(2);
    expect(sameRows(rows, whole), `${JSON.stringify({ rows, whole, split }, undefined, 1)}`).toBe(true);
    // So does one chunk of all rows, whose partial is never merged.
    expect(sameRows(await foldSplit(split, world, true), whole)).toBe(true);
  });
});

/** A call of each aggregate that has a state of its own. */
const calls = [...rules.keys()]
  .filter((name) => !/^(count_star|approx_.*)$/.test(name))
  .map((name) => {
    if (/^(bool_and|bool_or|count_if|countif)$/.test(name)) return `${name}(flag)`;
    if (/^(bit_)/.test(name)) return `${name}(id)`;
    if (/^(arg_|argm|min_by|max_by|regr_|covar_|corr)/.test(name)) return `${name}(total, id::double)`;
    return `${name}(total)`;
  })
  .concat([
    "count(*)",
    "count(distinct total)",
    "sum(distinct total)",
    "avg(distinct n)",
    "stddev(distinct n)",
  ]);

/** What depends on the order of rows is, of a rollup, not made of finer groups. */
const inOrder = /^(first|last|arbitrary|any_value|arg_|argm|min_by|max_by)/;
const named = (of: readonly string[], filter = ""): string =>
  of.map((call, index) => `${call} ${filter} as a${index}`).join(", ");

test.each([
  ["no rows", (of: readonly string[]) => `select ${named(of)} from data where false`],
  [
    "no rows of a grouping set",
    (of: readonly string[]) => `select zone, ${named(of)} from data where false group by rollup (zone)`,
  ],
  ["a false filter", (of: readonly string[]) => `select ${named(of, "filter (where id < 0)")} from data`],
  [
    "a false filter in groups",
    (of: readonly string[]) =>
      `select zone, ${named(of, "filter (where id < 0)")} from data group by zone order by zone`,
  ],
  [
    "NULL alone",
    (of: readonly string[]) =>
      `select ${named(of)} from (select null::double as total, null::double as n, id, null::boolean as flag from data)`,
  ],
])("each aggregate over %s has the answer of DuckDB", async (_, queryOf) => {
  for (const ordered of [true, false]) {
    const query = queryOf(calls.filter((call) => inOrder.test(call) === ordered));
    const { rows, split } = await foldedAnswer(query, world);
    const whole = await wholeAnswer(query, world);
    expect(whole.length).toBeGreaterThan(0);
    expect(rows).toEqual(whole);
    expect(split.way === "aggregate").toBe(!(ordered && query.includes("rollup")));
  }
});

test("a rounded number and one of more than 53 bits keep their value and type", async () => {
  const query =
    "select 1e0, 1.0, -2.5e-7, 123456789012345678901234567890, max(id) + 9007199254740993 from data";
  expect((await foldedAnswer(query, world)).rows).toEqual(await wholeAnswer(query, world));
});

test("approx_quantile is within 1/128 of the exact quantile, relative to it", async () => {
  for (const share of [0.01, 0.25, 0.5, 0.9, 1]) {
    const query = `select approx_quantile(-total * 1000, ${share}), approx_quantile(total, ${share}) from data`;
    const exact = `select quantile_disc(-total * 1000, ${share}), quantile_disc(total, ${share}) from data`;
    const [near, value] = [
      rowOf(await foldedAnswer(query, world)),
      rowOf({ rows: await wholeAnswer(exact, world) }),
    ];
    for (const [index, one] of near.entries())
      expect(Math.abs(one - Number(value[index]))).toBeLessThanOrEqual(Math.abs(Number(value[index])) / 127);
  }
});

test("approx_count_distinct is within four standard errors of the exact count, and 0 for no rows", async () => {
  await world.connection.run(
    "create or replace table many as select i % 5 as chunk, i * 7919 % 50021 as id from range(200000) t(i) order by all",
  );
  const many: World = { ...world, columns: [["id", "BIGINT"]] };
  await world.connection.run("alter table whole rename to kept; alter table many rename to whole");
  await world.connection.run("create or replace table data as select id from whole");
  try {
    for (const [where, count] of [
      ["id < 50", 50],
      ["id < 3000", 3000],
      ["true", 50_021],
      ["false", 0],
    ] as const) {
      const [near] = rowOf(
        await foldedAnswer(`select approx_count_distinct(id) from data where ${where}`, many),
      );
      expect(Math.abs(Number(near) - count)).toBeLessThanOrEqual(count * 4 * 0.023);
    }
  } finally {
    await world.connection.run("drop table whole; alter table kept rename to whole");
    await world.connection.run("create or replace table data as select * exclude (chunk) from whole");
  }
});

const rowOf = ({ rows }: { readonly rows: Rows }): number[] => (rows[2] ?? []).map(Number);

test("a split names the columns that it reads", async () => {
  const columnsOf = async (query: string): Promise<readonly string[]> =>
    (await splitQuery(query, { tables: { rates: world.rates }, columns: world.columns })).reads.toSorted();
  const all = world.columns.map(([name]) => name).toSorted();
  expect(await columnsOf("select zone, count(*) n, sum(j.k) from data d where d.flag group by all")).toEqual([
    ...["flag", "j", "zone"],
  ]);
  expect(await columnsOf("select count(*) from data")).toEqual([]);
  expect(await columnsOf("select * from data")).toEqual(all);
  expect(await columnsOf("select id from (select * from data)")).toEqual(["id"]);
  expect(await columnsOf("select max(data) from data")).toEqual(all);
  expect(await columnsOf("select name, sum(total) from data join rates using (zone) group by all")).toEqual([
    ...["total", "zone"],
  ]);
});

test("a name that is an alias and a column is the column in GROUP BY, where the columns are known", async () => {
  const query = "select upper(zone) as n, count(*) from data group by zone, n order by all";
  expect((await foldedAnswer(query, world)).rows).toEqual(await wholeAnswer(query, world));
});

test("names of a query that the steps use themselves change nothing", async () => {
  const queries = [
    "with merged as (select zone as k0, count(*) s0 from data group by all), parts as (select 1 as one) select * from merged, parts order by all",
    "with own as (select max(id) part from data), o as (select count(*) o0 from data) select own.part, o.o0 from own, o",
    "select id as o0, total as k0 from data order by total, o0 limit 5",
    "select zone as s0, count(*) as k0 from data group by s0 order by k0, s0",
    "with data as (select * from data where flag) select count(*) from data",
  ];
  for (const query of queries)
    expect((await foldedAnswer(query, world)).rows).toEqual(await wholeAnswer(query, world));
});

test("a run splits its query once for each schema, and again where that failed", async () => {
  const given = parseParams(sql, {
    source: "data/",
    query: "select k, sum(x) from data group by k",
  }) as SqlParams;
  const [two, three]: Schema[] = [
    [
      ["k", "BIGINT"],
      ["x", "DOUBLE"],
    ] as const,
    [
      ["k", "BIGINT"],
      ["x", "DOUBLE"],
      ["y", "DOUBLE"],
    ] as const,
  ].map((columns) => ({ columns, tables: {} }));
  const statements = statementsOf(given);
  expect(statements(two as Schema)).toBe(statements(two as Schema));
  expect(statements(three as Schema)).not.toBe(statements(two as Schema));
  const failing = statementsOf({ ...given, query: "select 1" });
  const failed = failing(two as Schema);
  await expect(failed).rejects.toMatchObject({ code: "bad-query" });
  expect(failing(two as Schema)).not.toBe(failed);
  await expect(failing(two as Schema)).rejects.toMatchObject({ code: "bad-query" });
});
