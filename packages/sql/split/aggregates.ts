import { distinctCount, rules } from "./rules.ts";
import type { Steps } from "./steps.ts";
import {
  columnTree,
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

/** Aggregates whose answer depends on the order of the values: after the order that is asked, that of the rows counts. */
const ordered = new Set(
  "list array_agg string_agg group_concat listagg first last arbitrary first_value last_value any_value mode".split(
    " ",
  ),
);

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
  if (name === "count" && tree["distinct"] === true && args.length === 1 && children[0]?.["class"] !== "STAR")
    return distinctCount(args[0] ?? "", filter);
  return carried(tree, children, orders, filter);
}

const usualArguments = new Map(
  "arg_min argmin min_by arg_max argmax max_by arg_min_null arg_max_null approx_quantile regr_count covar_pop covar_samp corr regr_slope regr_intercept"
    .split(" ")
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
    ...tree,
    children: args,
    filter: null,
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
    finish: ([state]) => {
      const answer = `(select ${call} from (select unnest(${state}) as e, generate_subscripts(${state}, 1) as i))`;
      // In a subquery without rows DuckDB says NULL, and not what the aggregate says.
      return textOf(tree["function_name"]) === "entropy" ? `coalesce(${answer}, 0)` : answer;
    },
  };
}

const inOrder = { type: "ORDER_DEFAULT", null_order: "ORDER_DEFAULT" };

const readsColumn = (tree: Tree): boolean =>
  [...treesOf(tree)].some((one) => one["class"] === "COLUMN_REF" || one["class"] === "STAR");
