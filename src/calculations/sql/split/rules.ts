import { approximateCount, approximateQuantile, histogram } from "./sketches.ts";
import type { Call, Rule, State, Steps } from "./steps.ts";

/** Aggregates whose state is their value, merged by themselves. */
const itself: Rule = ({ name, args, filter }) => ({
  states: [{ map: `${name}(${args.join(", ")}) ${filter}`, reduce: (column) => `${name}(${column})` }],
  finish: ([state]) => `${state}`,
});

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
const edge =
  (name: "first" | "last"): Rule =>
  ({ args, filter }) => ({
    states: [
      {
        map: `${name}({v: ${args[0]}}) ${filter}`,
        reduce: (column) => `${name}(${column}) filter (where ${column} is not null)`,
      },
    ],
    finish: ([state]) => `${state}.v`,
  });

/** The argument at the least or greatest value; of equal values the first. */
const extreme =
  (name: "arg_min" | "arg_max", takesNull: boolean): Rule =>
  ({ args: [x, by], filter }) => ({
    states: [
      {
        map: `${name}({v: ${x}, m: ${by}}, ${by}) filter (where ${notNull(takesNull ? [] : [`${x}`], filter)})`,
        reduce: (column) => `${name}(${column}, ${column}.m)`,
      },
    ],
    finish: ([state]) => `${state}.v`,
  });

/** `count(distinct x)`: the values themselves, each once. */
export const distinctCount = (x: string, filter: string): Steps => ({
  states: [
    {
      map: `list(distinct ${x}) filter (where ${notNull([x], filter)})`,
      reduce: (column) => `list_distinct(flatten(list(${column}) filter (where ${column} is not null)))`,
    },
  ],
  finish: ([state]) => `coalesce(len(${state}), 0)`,
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

const spread =
  (answer: (xx: string, n: string) => string): Rule =>
  ({ args: [x], filter }) => ({
    states: [
      moments(
        `{n: count(${x}) ${filter}::double, x: avg(${x}) ${filter}::double, ` +
          `xx: (var_pop(${x}) ${filter} * count(${x}) ${filter})::double}`,
        "",
      ),
    ],
    finish: ([state]) => answer(`${state}.xx`, `${state}.n`),
  });

const sample = (xx: string, n: string): string => `case when ${n} > 1 then ${xx} / (${n} - 1) end`;

const pairs =
  (answer: (state: string) => string): Rule =>
  ({ args: [y, x], filter }) => ({
    states: [
      moments(
        `{n: regr_count(${y}, ${x}) ${filter}::double, x: regr_avgx(${y}, ${x}) ${filter}, xx: regr_sxx(${y}, ${x}) ${filter}, ` +
          `y: regr_avgy(${y}, ${x}) ${filter}, yy: regr_syy(${y}, ${x}) ${filter}, xy: regr_sxy(${y}, ${x}) ${filter}}`,
        `, y: a.y + (b.y - a.y) * (b.n / (a.n + b.n)), yy: a.yy + b.yy + (b.y - a.y) ** 2 * (a.n * b.n / (a.n + b.n)), ` +
          `xy: a.xy + b.xy + (b.x - a.x) * (b.y - a.y) * (a.n * b.n / (a.n + b.n))`,
      ),
    ],
    finish: ([state]) => answer(`${state}`),
  });

/** The rules of aggregates that have a small state, by name. */
export const rules = new Map<string, Rule>([
  ...["min", "max", "sum", "any_value", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"].map(
    (name) => [name, itself] as const,
  ),
  ...["product", "fsum", "kahan_sum", "sumkahan"].map((name) => [name, itself] as const),
  ...["count", "count_star"].map(
    (name) =>
      [
        name,
        ({ args, filter }: Call) => ({
          states: [count(args, filter)],
          finish: ([n]: readonly string[]) => `${n}`,
        }),
      ] as const,
  ),
  [
    "regr_count",
    ({ args, filter }) => ({
      states: [
        {
          map: `regr_count(${args.join(", ")}) ${filter}`,
          reduce: (column) => `coalesce(sum(${column}), 0)::uinteger`,
        },
      ],
      finish: ([n]) => `${n}`,
    }),
  ],
  ...["count_if", "countif"].map(
    (name) =>
      [
        name,
        ({ args, filter }: Call) => ({
          states: [
            {
              map: `${name}(${args[0]}) ${filter}`,
              reduce: (column: string) => `sum(${column})`,
            },
          ],
          finish: ([n]: readonly string[]) => `${n}`,
        }),
      ] as const,
  ),
  ...["avg", "mean"].map((name) => [name, average("sum")] as const),
  ["favg", average("fsum")],
  ...["first", "first_value", "arbitrary"].map((name) => [name, edge("first")] as const),
  ...["last", "last_value"].map((name) => [name, edge("last")] as const),
  ...["arg_min", "argmin", "min_by"].map((name) => [name, extreme("arg_min", false)] as const),
  ...["arg_max", "argmax", "max_by"].map((name) => [name, extreme("arg_max", false)] as const),
  ["arg_min_null", extreme("arg_min", true)],
  ["arg_max_null", extreme("arg_max", true)],
  ["var_pop", spread((xx, n) => `${xx} / ${n}`)],
  ["stddev_pop", spread((xx, n) => `sqrt(${xx} / ${n})`)],
  ...["var_samp", "variance"].map((name) => [name, spread(sample)] as const),
  ...["stddev_samp", "stddev"].map((name) => [name, spread((xx, n) => `sqrt(${sample(xx, n)})`)] as const),
  ["covar_pop", pairs((s) => `${s}.xy / ${s}.n`)],
  ["covar_samp", pairs((s) => sample(`${s}.xy`, `${s}.n`))],
  ["corr", pairs((s) => `${s}.xy / sqrt(${s}.xx * ${s}.yy)`)],
  ["regr_slope", pairs((s) => `${s}.xy / ${s}.xx`)],
  ["regr_intercept", pairs((s) => `${s}.y - ${s}.xy / nullif(${s}.xx, 0) * ${s}.x`)],
  [
    "histogram",
    ({ args, filter }) => ({ states: [histogram(`${args[0]}`, filter)], finish: ([n]) => `${n}` }),
  ],
  ["approx_quantile", ({ args, filter }) => approximateQuantile(args, filter)],
  ["approx_count_distinct", ({ args, filter }) => approximateCount(args, filter)],
]);
