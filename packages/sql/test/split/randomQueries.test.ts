import fc from "fast-check";
import { expect, test } from "vitest";
import { fuzzRuns } from "../../../../test/support/fuzzRuns.ts";
import { foldedAnswer, foldSplit, sameRows, wholeAnswer, worldOf } from "./foldedQuery.ts";

const keys = [
  "k",
  "upper(t)",
  "i % 3",
  "d::date",
  "b",
  "i > 5 and b",
  "case when x > 0 then 'up' else t end",
  "n.f",
];
const values = ["i", "x", "m", "x * 2 - i", "coalesce(i, 0)", "case when b then i end", "n.f", "1"];
const orderless = [
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "var_pop",
  "stddev",
  "variance",
  "median",
  "count(distinct",
  "sum(distinct",
];
const calls = fc.oneof(
  fc
    .tuple(fc.constantFrom(...orderless), fc.constantFrom(...values))
    .map(([name, value]) => (name.includes("(") ? `${name} ${value})` : `${name}(${value})`)),
  fc.constantFrom(
    ...[
      "count(*)",
      "min(t)",
      "max(d)",
      "bool_or(b)",
      "bool_and(i > 3)",
      "count_if(b)",
      "bit_xor(id)",
      "any_value(k)",
    ],
    ...[
      "arg_min(id, x)",
      "arg_max(t, id)",
      "first(id)",
      "last(t)",
      "first(t order by id desc)",
      "list(i order by id)",
    ],
    ...[
      "string_agg(t, '-' order by id)",
      "list(id)",
      "quantile_disc(i, 0.3)",
      "quantile_cont(x, [0.1, 0.9])",
      "histogram(i)",
    ],
    ...[
      "covar_pop(x, i)",
      "covar_samp(x, m)",
      "regr_count(x, i)",
      "max(m) - min(m)",
      "sum(m) / count(*)",
      "mode(1)",
    ],
    ...[
      "list(distinct k order by k)",
      "approx_count_distinct(i) > 0",
      "round(avg(m), 2)",
      "max(n)",
      "kurtosis(i)",
      "entropy(i)",
      "min(i, 2)",
    ],
  ),
);
const filtered = fc
  .tuple(calls, fc.constantFrom("", "", "", " filter (where b)", " filter (where i > 90)"))
  .map(([call, filter]) =>
    // A filter belongs to one call, not to an expression of several.
    /^\w+\([^()]*(\[[^\]]*\])?[^()]*\)$/.test(call) ? call + filter : call,
  );
const where = fc.constantFrom(
  "",
  "",
  "where b",
  "where x is not null",
  "where k in (select k from rates)",
  "where id < 0",
);
const from = fc.constantFrom(
  "data",
  "data",
  "data join rates using (k)",
  "data left join rates using (k)",
  "(select * from data where i < 8) s",
);

/** A query whose answer has one order, that of all its columns. */
const queries = fc
  .record({
    by: fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 2 }),
    calls: fc.array(filtered, { minLength: 1, maxLength: 4 }),
    ...{
      where,
      from,
      isRollup: fc.nat(5),
      having: fc.constantFrom("", "", "having count(*) > 1"),
      limit: fc.nat(12),
    },
  })
  .map((one) => {
    const group =
      one.by.length === 0 ? "" : `group by ${one.isRollup === 0 ? `rollup (${one.by.join(", ")})` : "all"}`;
    // A join keeps no order of rows, in which these take the first of equals.
    const isJoined = one.from.includes("join") || one.where.includes("select");
    const calls = one.calls.filter(
      (call) => !(isJoined && /^(first|last|any_value|list|arg_min)\(/.test(call)),
    );
    const columns = [...one.by, ...calls, "count(*)"].map((text, index) => `${text} as c${index}`);
    const limit = one.limit > 8 ? `limit ${one.limit - 8}` : "";
    return `select ${columns.join(", ")} from ${one.from} ${one.where} ${group} ${one.having} order by all ${limit}`;
  });

/** A table cut into chunks at random borders, in its order, with empty chunks among them. */
const tables = fc.record({
  rows: fc.integer({ min: 1, max: 60 }),
  seed: fc.nat(1_000),
  borders: fc.array(fc.nat(60), { maxLength: 6 }),
});

const wholeOf = ({
  rows,
  seed,
  borders,
}: {
  rows: number;
  seed: number;
  borders: readonly number[];
}): string => {
  const chunk = borders.map((border) => `(id >= ${border})::int`).join(" + ") || "0";
  const draw = (salt: number, size: number): string => `(hash(id * 31 + ${seed}, ${salt}) % ${size})::int`;
  return `select ${chunk} as chunk, id, case ${draw(1, 5)} when 0 then null else 'k' || ${draw(2, 4)} end as k,
    ['a', 'B', 'é', '', null][1 + ${draw(3, 5)}] as t, nullif(${draw(4, 12)}, 0) as i, ${draw(5, 2)} = 0 as b,
    case ${draw(6, 6)} when 0 then null else (${draw(7, 2000)} - 1000) / 7.0::double end as x,
    (${draw(8, 100000)} / 100)::decimal(12, 2) as m, timestamp '2024-02-27' + to_hours(${draw(9, 100)}) as d, {'f': ${draw(10, 3)}} as n
    from range(${rows}) r(id) order by id`;
};

test("a query split over any chunks answers as DuckDB does over the whole table", async () => {
  let answered = 0;
  const property = fc.asyncProperty(queries, tables, async (query, table) => {
    const world = await worldOf(
      wholeOf(table),
      "select 'k' || r as k, r * 1.5 as rate from range(3) t(r)",
      table.borders.length + 1,
    );
    try {
      const whole = await wholeAnswer(query, world).catch((error: unknown) => String(error));
      // What DuckDB refuses is nothing to compare with.
      if (typeof whole === "string") return;
      answered += 1;
      const { rows, split } = await foldedAnswer(query, world);
      const shown = JSON.stringify({ query, rows, whole, split }, undefined, 1);
      expect(sameRows(rows, whole), shown).toBe(true);
      // The same chunks give the same bits, however often; fewer merges may round doubles otherwise.
      expect(await foldSplit(split, world)).toEqual(rows);
      expect(sameRows(await foldSplit(split, world, true), whole), shown).toBe(true);
    } finally {
      world.connection.closeSync();
    }
  });
  await fc.assert(property, fuzzRuns(40, 800));
  expect(answered).toBeGreaterThan(25);
});
