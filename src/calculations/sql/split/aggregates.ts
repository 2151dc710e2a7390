import { approximateCount, approximateQuantile, histogram } from "./sketches.ts";
import {
  type Functions,
  isTree,
  type Json,
  listOf,
  printExpression,
  refused,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/**
 * How aggregates are computed in steps: states per chunk, states merged, and the answer from merged states.
 *
 * An aggregate that has no small state carries its values: it is exact, and its partials grow with the rows.
 */
export interface Steps {
  readonly states: readonly State[];
  /** The answer from the merged states' columns. */
  finish(columns: readonly string[]): string;
}

export interface State {
  /** An aggregate over rows of data. */
  readonly map: string;
  /** An aggregate over the states in a column, in order. */
  reduce(column: string): string;
  /** The state from the value of `reduce`, if that is not one. */
  tidy?(merged: string): string;
}

/** A call of an aggregate as text. */
interface Call {
  readonly name: string;
  readonly args: readonly string[];
  /** `filter (where …)`, or nothing. */
  readonly filter: string;
}

type Rule = (call: Call) => Steps;

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

const rules = new Map<string, Rule>([
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

/** Aggregates whose answer depends on the order of the values: after the order that is asked, that of the rows counts. */
const ordered = new Set([
  "list",
  "array_agg",
  "string_agg",
  "group_concat",
  "listagg",
  "first",
  "last",
  "arbitrary",
  "first_value",
  "last_value",
  "any_value",
  "mode",
]);

export const isAggregate = (tree: Tree, functions: Functions): boolean =>
  tree["class"] === "FUNCTION" && functions.aggregates.has(textOf(tree["function_name"]).toLowerCase());

/** The steps of a call of an aggregate. */
export async function stepsOf(tree: Tree): Promise<Steps> {
  const name = textOf(tree["function_name"]).toLowerCase();
  if (name === "approx_top_k" || name === "reservoir_quantile")
    throw refused(`${name} does not decompose`, "");
  const children = listOf(tree["children"]);
  const orders = listOf(isTree(tree["order_bys"]) ? tree["order_bys"]["orders"] : []);
  const args = await Promise.all(children.map(printExpression));
  const filter = isTree(tree["filter"]) ? `filter (where ${await printExpression(tree["filter"])})` : "";
  const rule = rules.get(name);
  const usual = usualArguments.get(name) ?? 1;
  // Order and `distinct` change nothing for the least and greatest.
  const isPlain = tree["distinct"] !== true && orders.length === 0 && args.length <= usual;
  if (rule !== undefined && isPlain) return rule({ name, args, filter });
  return carried(tree, children, orders, filter);
}

const usualArguments = new Map(
  ["arg_min", "argmin", "min_by", "arg_max", "argmax", "max_by", "arg_min_null", "arg_max_null"]
    .concat(["approx_quantile", "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept"])
    .map((name) => [name, 2]),
);

/** Steps that carry the values which the aggregate needs, as a list of structs. */
async function carried(
  tree: Tree,
  children: readonly Tree[],
  orders: readonly Tree[],
  filter: string,
): Promise<Steps> {
  const fields: string[] = [];
  const carry = async (one: Json | undefined): Promise<Json> => {
    if (!isTree(one) || !readsColumn(one)) return one ?? null;
    fields.push(await printExpression(one));
    return columnTree("e", `a${fields.length - 1}`);
  };
  const args: Json[] = [];
  for (const child of children) args.push(await carry(child));
  const by: Json[] = [];
  for (const order of orders) by.push({ ...order, expression: await carry(order["expression"]) });
  const isDistinct = tree["distinct"] === true;
  if (ordered.has(textOf(tree["function_name"])) && !isDistinct)
    by.push({ ...inOrder, expression: columnTree("i") });
  const call = await printExpression({
    ...{ ...tree, children: args, filter: null },
    order_bys: { type: "ORDER_MODIFIER", orders: by },
  });
  const distinct = isDistinct ? "distinct " : "";
  const values = fields.map((field, index) => `a${index}: ${field}`).join(", ") || "a0: 1";
  return {
    states: [
      {
        map: `list(${distinct}{${values}}) ${filter}`,
        reduce: (column) => {
          const all = `flatten(list(${column}) filter (where ${column} is not null))`;
          return isDistinct ? `list_distinct(${all})` : all;
        },
      },
    ],
    finish: ([state]) =>
      `(select ${call} from (select unnest(${state}) as e, generate_subscripts(${state}, 1) as i))`,
  };
}

const inOrder = { type: "ORDER_DEFAULT", null_order: "ORDER_DEFAULT" };

export const columnTree = (...names: readonly string[]): Tree => ({
  ...{ class: "COLUMN_REF", type: "COLUMN_REF", alias: "", column_names: names },
});

const readsColumn = (tree: Tree): boolean =>
  [...treesOf(tree)].some((one) => one["class"] === "COLUMN_REF" || one["class"] === "STAR");
