import { approximateCount, approximateQuantile, histogram } from "./sketches.ts";
import type { Call, Rule, State, Steps } from "./steps.ts";

/** A rule with one state, from which `finish` makes the answer. */
const one =
  (state: (call: Call) => State, finish: (state: string) => string = (state) => state): Rule =>
  (call) => ({ states: [state(call)], finish: ([merged]) => finish(`${merged}`) });

/** Aggregates whose state is their value, merged by themselves. */
const itself = one(({ name, args, filter }) => summed(name, args.join(", "), filter));

/** A rule whose answer depends on the order of the rows: groups that are finer than those of the answer do not know theirs. */
const ordered =
  (rule: Rule): Rule =>
  (call) => {
    const steps = rule(call);
    return steps && { ...steps, isOrdered: true };
  };

/** Counts are BIGINT; a sum of them would be HUGEINT. */
const count = (args: readonly string[], filter: string): State => ({
  map: `count(${args.length === 0 ? "*" : args[0]}) ${filter}`,
  reduce: (column) => `coalesce(sum(${column}), 0)::bigint`,
});

const summed = (name: string, x: string, filter: string): State => ({
  map: `${name}(${x}) ${filter}`,
  reduce: (column) => `${name}(${column})`,
});

const average =
  (sum: string): Rule =>
  ({ args, filter }) => ({
    states: [summed(sum, args[0] ?? "", filter), count(args, filter)],
    finish: ([total, n]) => `cast(${total} as double) / nullif(${n}, 0)`,
  });

/** The first or last value with the number of rows, since a chunk without a row has no value and NULL is one. */
const edge = (name: "first" | "last"): Rule =>
  ordered(
    one(
      ({ args: [x], filter }) => ({
        map: `${name}({v: ${x}}) ${filter}`,
        reduce: (column) => `${name}(${column}) filter (where ${column} is not null)`,
      }),
      (state) => `${state}.v`,
    ),
  );

/** The argument at the least or greatest value; of equal values the first. */
const extreme = (name: "arg_min" | "arg_max", takesNull: boolean): Rule =>
  ordered(
    one(
      ({ args: [x, by], filter }) => ({
        map: `${name}({v: ${x}, m: ${by}}, ${by}) filter (where ${notNull(takesNull ? [] : [`${x}`], filter)})`,
        reduce: (column) => `${name}(${column}, ${column}.m)`,
      }),
      (state) => `${state}.v`,
    ),
  );

/** Aggregates with `distinct`: the values themselves, each once. `list_distinct` would keep each NaN. */
export const distinctValues = ({ name, args: [x], filter }: Call): Steps => ({
  states: [
    {
      map: `list(distinct ${x}) filter (where ${notNull([`${x}`], filter)})`,
      reduce: (column) => `flatten(list(${column}) filter (where ${column} is not null))`,
      tidy: (merged) => `(select list(distinct e) from (select unnest(${merged}) as e))`,
    },
  ],
  finish: ([state]) =>
    name === "count"
      ? `coalesce(len(${state}), 0)`
      : `(select ${name}(e) from (select unnest(${state}) as e))`,
});

const notNull = (values: readonly string[], filter: string): string =>
  [
    ...values.map((x) => `(${x}) is not null`),
    filter.replace(/^filter \(where (.*)\)$/s, "($1)") || "true",
  ].join(" and ");

/** Moments of one or two columns, merged as Chan, Golub and LeVeque do (1983, "Algorithms for computing the sample variance"). */
const moments = (map: string, extra: string): State => ({
  map,
  reduce: (column) =>
    `list_reduce(list(${column}) filter (where ${column}.n > 0), lambda a, b: {n: a.n + b.n, ` +
    `x: a.x + (b.x - a.x) * (b.n / (a.n + b.n)), xx: a.xx + b.xx + (b.x - a.x) ** 2 * (a.n * b.n / (a.n + b.n))${extra}})`,
});

const spread = (answer: (xx: string, n: string) => string): Rule =>
  one(
    ({ args: [x], filter }) =>
      moments(
        `{n: count(${x}) ${filter}::double, x: avg(${x}) ${filter}::double, ` +
          `xx: (var_pop(${x}) ${filter} * count(${x}) ${filter})::double}`,
        "",
      ),
    (state) => answer(`${state}.xx`, `${state}.n`),
  );

const sample = (xx: string, n: string): string => `case when ${n} > 1 then ${xx} / (${n} - 1) end`;

const pairs = (answer: (state: string) => string): Rule =>
  one(
    ({ args: [y, x], filter }) =>
      moments(
        `{n: regr_count(${y}, ${x}) ${filter}::double, x: regr_avgx(${y}, ${x}) ${filter}, xx: regr_sxx(${y}, ${x}) ${filter}, ` +
          `y: regr_avgy(${y}, ${x}) ${filter}, yy: regr_syy(${y}, ${x}) ${filter}, xy: regr_sxy(${y}, ${x}) ${filter}}`,
        `, y: a.y + (b.y - a.y) * (b.n / (a.n + b.n)), yy: a.yy + b.yy + (b.y - a.y) ** 2 * (a.n * b.n / (a.n + b.n)), ` +
          `xy: a.xy + b.xy + (b.x - a.x) * (b.y - a.y) * (a.n * b.n / (a.n + b.n))`,
      ),
    answer,
  );

const named = (names: string, rule: Rule): readonly (readonly [string, Rule])[] =>
  names.split(" ").map((name) => [name, rule]);

/** The rules of aggregates that have a small state, by name. */
export const rules: ReadonlyMap<string, Rule> = new Map([
  ...named("min max sum bool_and bool_or bit_and bit_or bit_xor", itself),
  ...named("any_value", ordered(itself)),
  ...named("product fsum kahan_sum sumkahan", itself),
  ...named(
    "count count_star",
    one(({ args, filter }) => count(args, filter)),
  ),
  ...named(
    "regr_count",
    one(({ args, filter }) => ({
      map: `regr_count(${args.join(", ")}) ${filter}`,
      reduce: (column) => `coalesce(sum(${column}), 0)::uinteger`,
    })),
  ),
  ...named(
    "count_if countif",
    one(({ name, args, filter }) => ({
      map: `${name}(${args[0]}) ${filter}`,
      reduce: (column) => `sum(${column})`,
    })),
  ),
  ...named("avg mean", average("sum")),
  ...named("favg", average("fsum")),
  ...named("first arbitrary", edge("first")),
  ...named("last", edge("last")),
  ...named("arg_min argmin min_by", extreme("arg_min", false)),
  ...named("arg_max argmax max_by", extreme("arg_max", false)),
  ...named("arg_min_null", extreme("arg_min", true)),
  ...named("arg_max_null", extreme("arg_max", true)),
  ...named(
    "var_pop",
    spread((xx, n) => `${xx} / ${n}`),
  ),
  ...named(
    "stddev_pop",
    spread((xx, n) => `sqrt(${xx} / ${n})`),
  ),
  ...named("var_samp variance", spread(sample)),
  ...named(
    "stddev_samp stddev",
    spread((xx, n) => `sqrt(${sample(xx, n)})`),
  ),
  ...named(
    "covar_pop",
    pairs((s) => `${s}.xy / ${s}.n`),
  ),
  ...named(
    "covar_samp",
    pairs((s) => sample(`${s}.xy`, `${s}.n`)),
  ),
  ...named(
    "corr",
    pairs((s) => `${s}.xy / sqrt(${s}.xx * ${s}.yy)`),
  ),
  ...named(
    "regr_slope",
    pairs((s) => `${s}.xy / ${s}.xx`),
  ),
  ...named(
    "regr_intercept",
    pairs((s) => `${s}.y - ${s}.xy / nullif(${s}.xx, 0) * ${s}.x`),
  ),
  ...named(
    "histogram",
    one(({ args, filter }) => histogram(`${args[0]}`, filter)),
  ),
  ...named("approx_quantile", ({ args, filter }) => approximateQuantile(args, filter)),
  ...named("approx_count_distinct", ({ args, filter }) => approximateCount(args, filter)),
]);
