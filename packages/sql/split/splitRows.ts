import type { Core } from "./cutQuery.ts";
import { type CoreSteps, tableTree } from "./splitGroups.ts";
import {
  columnTree,
  isTree,
  type Json,
  listOf,
  nameOf,
  parseQuery,
  printQuery,
  refused,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/** Splits a node without groups: partials are its rows, of which `distinct`, `order by` and `limit` keep some. */
export async function splitRows({ node }: Core): Promise<CoreSteps> {
  const { select_list, qualify, modifiers: given } = node;
  if ([...treesOf([select_list, qualify, given] as Json)].some((tree) => tree["class"] === "WINDOW"))
    throw refused("a window function over rows of data needs all rows in one place", "Use it over groups");
  const items = listOf(select_list);
  const hidden: Tree[] = [];
  const hide = (expression: Tree): Tree => {
    // A position, and ORDER BY ALL, mean columns of the answer.
    if (expression["class"] === "CONSTANT" || expression["class"] === "STAR") return expression;
    hidden.push({ ...meantBy(expression, items), alias: hiddenName(hidden.length) });
    return columnTree(hiddenName(hidden.length - 1));
  };
  // Distinct rows are ordered by what they have, so they need no further columns.
  const modifiers = listOf(given).some(isPlainDistinct)
    ? listOf(given)
    : listOf(given).map((one) => hideWithin(one, hide));
  const early = earlyModifiers(modifiers);
  const all = await parseQuery("select * from parts");
  const [star] = listOf(all["select_list"]);
  const exclude = hidden.map((one) => textOf(one["alias"]));
  return {
    map: { ...node, select_list: [...items, ...hidden], modifiers: early },
    reduce: (source) => printQuery({ ...all, from_table: tableTree(source), modifiers: early }),
    finish: async (merged) => ({
      ...all,
      from_table: tableTree(merged),
      modifiers,
      select_list: [{ ...star, exclude_list: exclude }],
    }),
  };
}

/** No name that a column of a query is likely to have: both stand side by side in partials. */
const hiddenName = (index: number): string => `leasefold_order_${index}`;

function meantBy(expression: Tree, items: readonly Tree[]): Tree {
  const names = expression["column_names"];
  if (!Array.isArray(names) || names.length > 1) return expression;
  return items.find((item) => textOf(item["alias"]).toLowerCase() === nameOf(expression)) ?? expression;
}

const isPlainDistinct = (modifier: Tree): boolean =>
  modifier["type"] === "DISTINCT_MODIFIER" && listOf(modifier["distinct_on_targets"]).length === 0;

function hideWithin(modifier: Tree, hide: (expression: Tree) => Tree): Tree {
  const hideIn = (order: Tree): Tree =>
    isTree(order["expression"]) ? { ...order, expression: hide(order["expression"]) } : order;
  if (modifier["type"] === "ORDER_MODIFIER")
    return { ...modifier, orders: listOf(modifier["orders"]).map(hideIn) };
  if (modifier["type"] !== "DISTINCT_MODIFIER") return modifier;
  return { ...modifier, distinct_on_targets: listOf(modifier["distinct_on_targets"]).map(hide) };
}

/** What may be left out of partials: all but the first rows in order, as many as the limit and what it skips. */
function earlyModifiers(modifiers: readonly Tree[]): Tree[] {
  const distinct = modifiers.filter((one) => one["type"] === "DISTINCT_MODIFIER");
  const order = modifiers.filter((one) => one["type"] === "ORDER_MODIFIER");
  const limit = modifiers.find((one) => one["type"] === "LIMIT_MODIFIER");
  const first = limit === undefined ? undefined : wholeOf(limit["limit"] ?? null);
  const skipped = limit === undefined || limit["offset"] === null ? 0 : wholeOf(limit["offset"] ?? null);
  // `distinct on` keeps the first row of each in this order.
  const keepsFirst = distinct.some((one) => !isPlainDistinct(one));
  if (first === undefined || skipped === undefined) return [...distinct, ...(keepsFirst ? order : [])];
  const value = { type: { id: "BIGINT", type_info: null }, is_null: false, value: first + skipped };
  const constant = { class: "CONSTANT", type: "VALUE_CONSTANT", alias: "", value };
  return [...distinct, ...order, { type: "LIMIT_MODIFIER", limit: constant, offset: null }];
}

function wholeOf(tree: Json): number | undefined {
  const value =
    isTree(tree) && tree["class"] === "CONSTANT" && isTree(tree["value"])
      ? tree["value"]["value"]
      : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}
