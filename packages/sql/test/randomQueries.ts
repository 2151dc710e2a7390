/** Random questions over random rows. The same seed gives the same ones. */

/** Gives a whole number below `size`. */
export type Draw = (size: number) => number;

/** The constants of Numerical Recipes. */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (size) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * size);
  };
}

/** Rows of every type that matters, with NULLs, NaN, empty texts and names that are fields and columns. */
export const rowsSql = (rows: number, seed: number): string =>
  `select case when h(1, 9) = 0 then null else ['a', 'B', 'b', 'é', '', 'Zz'][1 + h(2, 6)] end as k,
    nullif(h(3, 8), 0)::bigint as v, case h(4, 7) when 0 then null else ((h(5, 20000) - 10000) / 100)::decimal(9, 2) end as d,
    case h(6, 9) when 0 then null when 1 then 'nan'::double when 2 then -0.0::double when 3 then 'inf'::double else (h(7, 2000) - 1000) / 7.0::double end as x,
    (h(8, 400) - 200) / 4.0::double as y, date '2024-01-28' + h(9, 60)::int as dt, timestamp '2024-02-27' + to_minutes(h(10, 99999)) as ts,
    case when h(11, 5) = 0 then null else {'k': nullif(h(12, 4), 0), 'v': ['p', 'q'][1 + h(13, 2)], 'i': {'k': h(14, 3)}} end as st,
    case when h(15, 6) = 0 then null else list_transform(range(h(16, 4)), lambda q: (q + h(17, 5))::int) end as l,
    h(18, 2) = 0 as b, (h(19, 1000)::hugeint * 1000000000000000000000)::hugeint as h, h(20, 200)::utinyint as u,
    timestamptz '2024-03-30 22:00:00+00' + to_minutes(h(21, 9999)) as tz, (['r', 'g', 'b'])[1 + h(22, 3)]::enum('r', 'g', 'b') as e,
    to_days(h(23, 40)::int) as iv, i as id, (h(24, 9) || '.' || h(25, 9))::varchar as t
   from range(${rows}) r(i) order by i`.replace(
    /h\((\d+), (\d+)\)/g,
    (_, salt, size) => `(hash(i * 31 + ${seed}, ${salt}) % ${size})::bigint`,
  );

/** How two answers to a question are compared: row by row, in any order, or not at all where chance decides in DuckDB too. */
export function comparisonOf(question: string): "rows" | "set" | "none" {
  const isJoined = /\bjoin\b|\bin \(select|exists|lateral|unnest|> \(select/.test(question);
  // A join keeps no order of rows, on which these depend.
  if (isJoined && /\b(first|last|any_value|list|mode)\((?!distinct|[^()]*order by)/.test(question))
    return "none";
  // Such a join repeats rows with the same id, or gives several without one, whose order is left to chance.
  const repeats = /unnest|lateral|cross join|full join|data\.k < r\.k/.test(question);
  if (repeats && /(row_number|lag|avg)\([^()]*\) over \([^()]*order by id/.test(question)) return "none";
  if (/order by all( limit \d+)?( offset \d+)?$/.test(question)) return "rows";
  const hasLimit = / limit \d+( offset \d+)?$/.test(question);
  const isById = /(, id( desc| asc)?|order by id( desc)?|, id +desc)( limit \d+)?( offset \d+)?$/.test(
    question,
  );
  // A name of the answer comes before that of the column.
  const isOther = /\bas id\b/.test(question);
  if (isJoined || isOther) return hasLimit ? "none" : "set";
  return isById || hasLimit ? "rows" : "set";
}

/** A table to join with. */
export const ratesSql =
  "select unnest(['a', 'b', 'B', 'zz', 'p']) as k, unnest([1.0, 2.5, 0.5, 9, 3])::double as rate";

type Piece = string | (() => string);

/** Gives questions, each a SELECT from `data` and `rates`. */
export function questionsFrom(draw: Draw): () => string {
  const pick = (...all: readonly Piece[]): string => {
    const one = all[draw(all.length)] ?? "";
    return typeof one === "function" ? one() : one;
  };
  const maybe = (percent: number, make: () => string): string => (draw(100) < percent ? make() : "");
  const many = (most: number, make: () => string): string[] => Array.from({ length: 1 + draw(most) }, make);

  const plainNumber = (): string => pick("v", "id", "d", "y", "st.k", "u", "st.i.k");
  const number = (depth = 2): string =>
    depth === 0
      ? pick(plainNumber, plainNumber, () =>
          pick("1", "2", "10", "0.5", "2.50", "-1", "9007199254740993", "null"),
        )
      : pick(
          ...[plainNumber, plainNumber, plainNumber],
          () => `${number(depth - 1)} ${pick("+", "-", "*")} ${number(depth - 1)}`,
          () => `(${number(depth - 1)} % 3)`,
          () => `case when ${bool(depth - 1)} then ${number(depth - 1)} else ${number(depth - 1)} end`,
          () => `coalesce(${number(depth - 1)}, ${pick("0", "1.5", "2e0")})`,
          () => `abs(${number(depth - 1)})`,
          () => `round(${number(0)}, 1)`,
          () => `${pick("v", "id")}::${pick("double", "decimal(12,3)", "hugeint", "int", "varchar::int")}`,
          ...["len(l)", "year(dt)", "length(t)", "(dt - date '2024-01-01')", "least(id, v)"],
          () => `list_sum(list_transform(l, lambda v: v + ${pick("1", "id", "v")}))`,
          () => `extract(${pick("month", "day", "dow")} from ts)`,
          () => `-${number(0)}`,
          () => `(${number(0)} // 2)`,
          () => `${number(0)} / 2`,
          () => `nullif(${number(0)}, 1)`,
          () => `greatest(${number(0)}, 2)`,
          ...["datediff('day', dt, ts::date)", "fdiv(id, 3)", "list_reduce(l, lambda a, c: a + c)"],
        );
  const text = (depth = 2): string =>
    depth === 0
      ? pick("k", "t", "st.v", "e::varchar")
      : pick(
          ...["k", "t", "st.v", "e::varchar", "d::varchar", "trim(k)", "md5(k)", "concat(k, '/', v)"],
          () => `upper(${text(depth - 1)})`,
          () => `${text(depth - 1)} || '-' || ${pick("k", "id", "v", "'x''y'")}`,
          () => `substr(${text(0)}, 1, 1)`,
          () => `coalesce(${text(depth - 1)}, 'none')`,
          () => `case when ${bool(0)} then 'up' else ${text(0)} end`,
          ...["strftime(ts, '%Y-%m')", "split_part(t, '.', 1)", "regexp_replace(t, '[0-4]', '_', 'g')"],
        );
  const day = (): string =>
    pick(
      ...["dt", "ts", "ts::date", "date_trunc('month', ts)", "dt + 1", "ts + interval 1 day", "tz"],
      ...["date_trunc('week', dt)", "time_bucket(interval 7 days, ts)", "date '2024-02-01'", "last_day(dt)"],
    );
  const bool = (depth = 1): string =>
    pick(
      () => `v ${pick("=", "<", ">=", "<>")} ${pick("2", "3", "1.5", "null", "id % 5")}`,
      () => `k ${pick("=", "<", "like", "ilike", "not like")} 'b'`,
      ...[
        "b",
        "k in ('a', 'b', 'é')",
        "v in (1, 2, 3)",
        "v not in (1, 7)",
        "d between -20 and 30.5",
        "x > 0",
      ],
      ...[
        "isnan(x)",
        "dt >= '2024-02-15'",
        "ts < timestamp '2024-03-15 12:00:00'",
        "st.k is null",
        "k is not null",
      ],
      ...[
        "k is distinct from 'a'",
        "e = 'r'",
        "list_contains(l, 2)",
        "l[1] > 1",
        "st.v = 'p'",
        "tz > '2024-04-01'",
      ],
      ...["iv > interval 10 day", "d > 1", "u > 100", "t similar to '[0-5].*'"],
      ...(depth === 0
        ? []
        : [
            () => `(${bool(depth - 1)} and ${bool(depth - 1)})`,
            () => `(${bool(depth - 1)} or ${bool(depth - 1)})`,
            () => `not (${bool(depth - 1)})`,
            () => `${number(depth)} > ${number(0)}`,
            () => `${text(0)} = ${text(0)}`,
          ]),
    );
  const any = (): string =>
    pick(number, number, text, text, day, () => bool(0), ...["x", "st", "l", "e", "h", "iv"]);

  const small = (): string =>
    pick(
      ...[
        "count(*)",
        "count()",
        "sum(h)",
        "sum(y)",
        "avg(y)",
        "min(x)",
        "max(x)",
        "bit_xor(v)",
        "min(distinct v)",
      ],
      () => `count(${any()})`,
      () => `sum(${number()})`,
      () => `sum(${number()})`,
      () => `avg(${number()})`,
      () => `min(${any()})`,
      () => `max(${any()})`,
      () => `bool_and(${bool(0)})`,
      () => `bool_or(${bool(0)})`,
      () => `count_if(${bool(0)})`,
      ...[
        "first(id)",
        "last(id)",
        "any_value(1)",
        "product(y / 50)",
        "var_pop(y)",
        "stddev(y)",
        "histogram(v)",
      ],
      ...[
        "arg_min(k, id)",
        "arg_max(k, id)",
        "covar_pop(y, id)",
        "corr(y, id)",
        "regr_slope(y, id)",
        "fsum(y)",
      ],
      () => `count(distinct ${any()})`,
      () => `${pick("sum", "avg", "stddev")}(distinct ${number(0)})`,
    );
  const holistic = (): string =>
    pick(
      ...["string_agg(k, ',' order by id)", "list(v order by id)", "arg_max(id, y + id / 1e6)", "mode(1)"],
      ...["first(k order by id)", "quantile_disc(id, 0.5)", "geomean(id + 1)", "list(distinct v order by v)"],
      ...["avg(dt)", "mad(y)", "entropy(v)", "kurtosis(y)", "sem(y)", "min(v, 2)", "list(id)"],
      () => `median(${number(0)})`,
      () => `string_agg(${text(0)}, ',' order by id)`,
      () => `quantile_cont(y, ${pick("0.3", "[0.1, 0.9]")})`,
    );
  const aggregate = (): string => {
    const call = draw(100) < 82 ? small() : holistic();
    return `${call}${/geomean|mode|any_value/.test(call) ? "" : maybe(18, () => ` filter (${pick("where ", "")}${bool(0)})`)}`;
  };
  const ofAggregates = (): string =>
    pick(
      ...[aggregate, aggregate, aggregate],
      ...["sum(y) / count(*)", "case when count(*) > 3 then 'many' else 'few' end", "max(id) - min(id)"],
      ...["round(avg(y), 2)", "coalesce(sum(v), 0)", "count(*) * 100 / nullif(count(v), 0)"],
    );
  const name = (): string => pick("k", "v", "n", "id", "s", "b", "d", "K2", '"odd ""name"', "c");
  const source = (): string =>
    pick(
      ...[
        "data",
        "data",
        "data",
        "data",
        "data",
        "data d0",
        "(select * from data) s",
        "(from data where b) s",
      ],
      () => `(select * from data where ${bool()}) s`,
      () => `(select *, ${number()} as nn from data) s`,
      ...[
        "(select * replace (v + 1 as v) from data) s",
        "(select k as v, v as k, * exclude (k, v) from data) s",
      ],
      ...["data join rates using (k)", "data left join rates using (k)", "rates join data using (k)"],
      ...["data left join rates r on data.k = r.k and r.rate > 1", "rates right join data using (k)"],
      ...["data, unnest(l) u(w)", "(select *, unnest(l) as w from data) s", "data semi join rates using (k)"],
      ...["data anti join rates using (k)", "data cross join (values (1), (2)) z(zz)"],
      ...["data inner join rates r on data.k < r.k", "data full join rates r on data.k = r.k"],
    );
  const where = (): string =>
    maybe(
      55,
      () =>
        ` where ${pick(
          ...[bool, bool, bool, bool, bool],
          ...["k in (select k from rates)", "k not in (select k from rates where k is not null)"],
          ...["exists (select 1 from rates r where r.k = st.v)", "v > (select avg(v) from data)"],
          "k in (select k from data group by k having count(*) > 5)",
        )}`,
    );
  const unique = (items: readonly string[]): string[] => {
    const seen = new Set<string>();
    return items.map((item) => {
      const alias = name();
      if (seen.has(alias)) return item;
      seen.add(alias);
      return draw(3) === 0 ? item : `${item} as ${alias}`;
    });
  };

  const grouped = (isOuter = true): string => {
    const keys = Array.from({ length: draw(4) }, () => pick(any, () => bool(0), text, number));
    const aliases = keys.map(() => (draw(2) === 0 ? undefined : name()));
    const calls = unique(
      many(4, () =>
        draw(6) > 0
          ? ofAggregates()
          : pick(
              "max(columns(['v', 'id']))",
              "count(columns('^[kvd]$'))",
              "min(columns(* exclude (st, l, x, h)))",
            ),
      ),
    );
    const list = keys.map((key, index) =>
      aliases[index] === undefined ? key : `${key} as ${aliases[index]}`,
    );
    const [first = "1", second, third] = keys;
    const how = draw(12);
    const forms = [
      ...["all", "all", "all", ...Array(2).fill(keys.map((_, index) => index + 1).join(", "))],
      ...Array(2).fill(keys.map((key, index) => aliases[index] ?? key).join(", ")),
      `rollup (${keys.join(", ")})`,
      `cube (${[first, ...(second === undefined ? [] : [second])].join(", ")})${third === undefined ? "" : `, ${third}`}`,
      `grouping sets ((${keys.join(", ")}), (${first}), (), (${first}))`,
      ...Array(2).fill(keys.join(", ")),
    ];
    const by = keys.length === 0 ? "" : ` group by ${forms[how]}`;
    if (how >= 7 && how <= 9 && keys.length > 0 && draw(2) > 0) calls.push(`grouping(${first}) as gg`);
    if (draw(9) === 0 && keys.length > 0) list.shift();
    const having =
      keys.length > 0 || draw(3) === 0
        ? maybe(
            25,
            () =>
              ` having ${pick(
                "count(*) > 2",
                () => `${pick("sum(v)", "max(id)", "avg(y)")} > 5`,
                () => `${name()} > 3`,
                "count(distinct k) > 1",
                "bool_or(b)",
                () => `${name()} is not null`,
              )}`,
          )
        : "";
    const window =
      maybe(
        10,
        () => `, ${pick("count(*)", "sum(v)")} * 100.0 / sum(${pick("count(*)", "sum(v)")}) over () as share`,
      ) + maybe(6, () => ", rank() over (order by count(*) desc) as rk");
    const order = isOuter
      ? pick(
          "",
          " order by all",
          " order by all",
          () =>
            ` order by ${pick(
              () => `${1 + draw(list.length + calls.length)} desc nulls last`,
              () => `${aggregate()} desc`,
              name,
              first,
            )}`,
        )
      : "";
    const limit =
      order === " order by all"
        ? maybe(40, () => ` limit ${1 + draw(6)}${maybe(40, () => ` offset ${draw(3)}`)}`)
        : "";
    const qualify = maybe(5, () => " qualify row_number() over (order by count(*)) < 900");
    return `select ${[...list, ...calls].join(", ")}${window} from ${source()}${where()}${by}${having}${qualify}${order}${limit}`;
  };

  const plainRows = (isOuter = true): string => {
    const columns =
      draw(6) > 0
        ? unique(many(4, any))
        : [
            pick(
              ...["*", "* exclude (st)", "columns('^[kv]$')", "* replace (upper(k) as k)", "data"],
              ...["columns(c -> c like 'd%')", "columns(['k', 'v']) || 'z'"],
            ),
          ];
    const window = maybe(
      15,
      () =>
        `, ${pick("row_number() over (order by id)", () => `sum(v) over (partition by ${pick("k", "b")} order by id)`, "lag(id) over (order by id)", "count(*) over (partition by k)", "avg(y) over (order by id rows between 2 preceding and 1 following)", "first_value(k ignore nulls) over (order by id)")} as win`,
    );
    const distinct = maybe(15, () => "distinct ");
    const order = !isOuter
      ? ""
      : distinct !== ""
        ? pick("", " order by all")
        : pick(
            "",
            "",
            " order by all",
            () => ` order by ${pick(name, any)} ${pick("", "desc", "nulls first", "desc nulls last")}, id`,
            " order by id desc",
          );
    const isOrdered = order === " order by all" || / id/.test(order);
    const limit = !isOuter
      ? ""
      : isOrdered
        ? maybe(50, () => ` limit ${draw(9)}${maybe(40, () => ` offset ${draw(7)}`)}`)
        : order === "" && distinct === ""
          ? maybe(20, () => ` limit ${1 + draw(40)}`)
          : "";
    const qualify = maybe(4, () => " qualify row_number() over (partition by k order by id) <= 2");
    return `select ${distinct}${columns.join(", ")}${window} from ${source()}${where()}${qualify}${order}${limit}`;
  };

  return () =>
    pick(
      ...[grouped, grouped, grouped, grouped, grouped, plainRows, plainRows, plainRows],
      () =>
        `with g as (${grouped(false)}) select ${pick("*", "count(*)", "count(*) as n, max(n)", "g.*, row_number() over () > 0 as o")} from g`,
      () =>
        `with a as (select * from data${where()}), g as (select k, count(*) as n, sum(v) as v from a group by k) select g.k, n, v, (select count(*) from a) as all_n from g order by all`,
      () =>
        `select k, count(*) as n from data group by k ${pick("union all", "union", "except", "intersect")} select ${pick("t", "st.v")}, ${pick("count(*)", "max(v)")} from data group by 1`,
      () =>
        `select k, v from data ${pick("union all", "union", "except", "union all by name", "intersect all")} select ${pick("t, id", "st.v as k, id % 4 as v")} from data`,
      () =>
        `select (select count(*) from data${where()}) as a, (select max(k) from data) as b, (select min(ts) from data) as c`,
      () => "select k, n / (select sum(v) from data) as share from (select k, sum(v) n from data group by k)",
      () =>
        `with a as (${grouped(false)}), b as (select k, max(v) as m from data group by k) select count(*), (select count(*) from b) from a`,
      () =>
        `select a.k, a.n, b.m from (select k, count(*) n from data group by k) a ${pick("join", "left join", "full join")} (select k, max(id) m from data where b group by k) b ${pick("using (k)", "on a.k = b.k and b.m > 5")}`,
      () =>
        `select a.k, a.n, r.rate from (select k, count(*) n from data group by k) a ${pick("join", "left join", "full join")} rates r using (k)`,
      () => `select count(*) as n from (${draw(2) === 0 ? grouped(false) : plainRows(false)})`,
      () => "select avg(n) from (select k, b, count(*) as n from data group by all)",
      () => `select distinct on (k) k, id from data order by k nulls last, id ${pick("", "desc")}`,
      () => "select * from data pivot (sum(id) for b in (true, false) group by k) order by all",
      () => "select * from (unpivot (select k, v, id from data) on v, id into name n value val) order by all",
      () => "select t2.k, count(*) from data t1 join data t2 on t1.id = t2.id + 1 group by all",
      () =>
        `select k, id from (select k, id, row_number() over (partition by k order by y, id) r from data${where()}) where r <= 2`,
      () => "select summary.* from (select k, list(id order by id) as ids from data group by k) summary",
      () => "from data select k, count(*) group by k",
      () =>
        "select e, k, sum(id) s from data group by grouping sets ((e), (k), (e, k), (e)) having grouping(e) = 0 or count(*) > 3",
      () =>
        `select k, (select max(rate) from rates r where r.k = data.k) as rate from data order by id limit ${1 + draw(20)}`,
      () =>
        `select data.k, w.n from data, lateral (select count(*) as n from rates r where r.k <= data.k) w order by id`,
      () =>
        "select d1.id, d2.id from data d1 asof join data d2 on d1.ts >= d2.ts and d1.id > d2.id where d1.id < 20 order by all",
      () =>
        `with recursive t(id, n) as (select id, 0 from data${where()} union${draw(2) === 0 ? "" : " all"} select data.id, t.n + 1 from t join data on data.id = t.id * ${2 + draw(3)} + ${draw(3)} where t.n < ${1 + draw(5)}) select n, count(*), sum(id) from t group by all order by all`,
    );
}
