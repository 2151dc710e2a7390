import { isAggregate, stepsOf } from "./aggregates.ts";
import type { Core } from "./cutQuery.ts";
import { GroupKeys, sameExpression } from "./groupKeys.ts";
import type { State, Steps } from "./steps.ts";
import {
  columnName,
  columnTree,
  type Functions,
  isTree,
  type Json,
  listOf,
  nameOf,
  parseExpression,
  printExpression,
  refused,
  replaced,
  type Tree,
  textOf,
} from "./syntax.ts";

/** A core in steps. */
export interface CoreSteps {
  /** Over data. */
  readonly map: Tree;
  /** Over the table `source`, the rows of `parts` that belong to this core. */
  reduce(source: string): Promise<string>;
  /** Over the table `merged`, which one `map` or `reduce` made. */
  finish(merged: string): Promise<Tree>;
}

/** Splits a node with groups or aggregates: a row of a partial is a group, with its keys and the states of its aggregates. */
export async function splitGroups(
  { node }: Core,
  functions: Functions,
  columns: readonly string[] | undefined,
): Promise<CoreSteps> {
  const keys = new GroupKeys(node, functions, columns);
  const aggregates = await findAggregates(keys, functions);
  const states = aggregates.flatMap(({ steps, first }) =>
    steps.states.map((state, index) => ({ state, column: `s${first + index}` })),
  );
  const keyColumns = keys.expressions.map((_key, index) => `k${index}`);
  const isSets = listOf2(node["group_sets"]).length > 1;
  if (isSets) keyColumns.push("sets");
  const named = async (text: string, alias: string): Promise<Tree> => ({
    ...(await parseExpression(text)),
    alias,
  });
  const mapped: Tree[] = keys.expressions.map((key, index) => ({ ...key, alias: `k${index}` }));
  if (isSets) mapped.push({ ...grouping, children: keys.expressions, alias: "sets" });
  for (const { state, column } of states) mapped.push(await named(state.map, column));
  const group = isSets
    ? { group_expressions: keys.expressions, group_sets: node["group_sets"] ?? [] }
    : {
        group_expressions: keys.expressions,
        group_sets: keys.expressions.length > 0 ? [keys.expressions.map((_k, i) => i)] : [],
      };
  return {
    map: {
      ...node,
      select_list: mapped,
      ...group,
      aggregate_handling: "STANDARD_HANDLING",
      having: null,
      qualify: null,
      modifiers: [],
    },
    reduce: async (source) => reduceText(keyColumns, states, source),
    finish: async (merged) => {
      const answers = await Promise.all(
        aggregates.map(async ({ tree, steps, first }) => {
          const of = steps.states.map((_state, index) => `${merged}.s${first + index}`);
          return { tree, answer: await parseExpression(steps.finish(of)) };
        }),
      );
      return finishTree(node, keys, answers, { merged, functions });
    },
  };
}

const listOf2 = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : [];

const grouping = { class: "OPERATOR", type: "GROUPING_FUNCTION" };

function reduceText(
  keys: readonly string[],
  states: readonly { readonly state: State; readonly column: string }[],
  source: string,
): string {
  const merged = states.map(({ state, column }) => `${state.reduce(column)} as ${column}`);
  const by = keys.length === 0 ? "" : ` group by ${keys.join(", ")}`;
  // Without aggregates each group is one row; `distinct` would do, but not for no keys.
  const text = `select ${[...keys, ...merged].join(", ")} from ${source}${by}`;
  if (states.every(({ state }) => state.tidy === undefined)) return text;
  const tidied = states.map(({ state, column }) =>
    state.tidy === undefined ? column : `${state.tidy(`t.${column}`)} as ${column}`,
  );
  return `select ${[...keys, ...tidied].join(", ")} from (${text}) as t`;
}

interface Found {
  readonly tree: Tree;
  readonly steps: Steps;
  /** The index of its first state. */
  readonly first: number;
}

/** The different aggregates of a node, in order. */
async function findAggregates(keys: GroupKeys, functions: Functions): Promise<Found[]> {
  const found: Found[] = [];
  let states = 0;
  for (const tree of keys.aggregatesOf()) {
    if (found.some((one) => sameExpression(one.tree, tree))) continue;
    const nested = [...keys.within(tree)].some((one) => one !== tree && isAggregate(one, functions));
    if (nested)
      throw refused(
        `${await printExpression(tree)} has an aggregate within`,
        "Aggregate in a subquery first",
      );
    const steps = await stepsOf(tree);
    found.push({ tree, steps, first: states });
    states += steps.states.length;
  }
  return found;
}

interface Finishing {
  readonly merged: string;
  readonly functions: Functions;
}

async function finishTree(
  node: Tree,
  keys: GroupKeys,
  answers: readonly { readonly tree: Tree; readonly answer: Tree }[],
  { merged, functions }: Finishing,
): Promise<Tree> {
  const answerOf = (tree: Tree, bound: readonly string[], depth: number): Json | undefined => {
    if (depth > 50) throw refused("its names refer to each other");
    const within = (inner: Tree, more: readonly string[] = []): Tree =>
      replaced<Json>(inner, (one) => answerOf(one, [...bound, ...more], depth + 1)) as Tree;
    const key = keys.indexOf(tree);
    if (key >= 0) return { ...columnTree(merged, `k${key}`), alias: textOf(tree["alias"]) };
    if (isAggregate(tree, functions)) {
      const found = answers.find((one) => sameExpression(one.tree, keys.resolved(tree)));
      return found === undefined ? undefined : { ...found.answer, alias: textOf(tree["alias"]) };
    }
    if (tree["type"] === "GROUPING_FUNCTION") return keys.groupingOf(tree, merged);
    if (tree["class"] === "SUBQUERY") return tree;
    if (tree["class"] === "LAMBDA" && isTree(tree["lhs"]) && isTree(tree["expr"])) {
      const names = [tree["lhs"], ...listOf(tree["lhs"]["children"])].map((one) => nameOf(one));
      return { ...tree, expr: within({ in: tree["expr"] }, names)["in"] ?? null };
    }
    if (tree["class"] !== "COLUMN_REF") return undefined;
    const name = nameOf(tree);
    if (bound.includes(name)) return tree;
    const meant = keys.aliased(tree);
    if (meant !== undefined)
      return { ...(within({ in: meant })["in"] as Tree), alias: textOf(tree["alias"]) };
    throw refused(`column ${name} must be in GROUP BY or in an aggregate`);
  };
  const finished = <T extends Json>(value: T): T => replaced(value, (tree) => answerOf(tree, [], 0));
  const items: Tree[] = [];
  for (const item of listOf(node["select_list"])) {
    if (item["class"] === "STAR") throw refused("* with groups is not taken", "Name the columns");
    const alias =
      textOf(item["alias"]) ||
      (item["class"] === "COLUMN_REF" ? nameOf(item, false) : await columnName(item));
    items.push({ ...finished(item), alias });
  }
  const order = (one: Tree): Tree => {
    const { expression } = one;
    const isOutput =
      isTree(expression) &&
      (expression["class"] === "COLUMN_REF" ? keys.isAlias(expression) : isPosition(expression));
    return isOutput ? one : { ...one, expression: finished(expression ?? null) };
  };
  const modifiers = listOf(node["modifiers"]).map((one) =>
    one["type"] === "ORDER_MODIFIER" ? { ...one, orders: listOf(one["orders"]).map(order) } : finished(one),
  );
  return {
    ...node,
    ...{
      select_list: items,
      modifiers,
      from_table: tableTree(merged),
      where_clause: finished(node["having"] ?? null),
    },
    group_expressions: [],
    group_sets: [],
    aggregate_handling: "STANDARD_HANDLING",
    having: null,
    qualify: finished(node["qualify"] ?? null),
  };
}

/** A position, or ORDER BY ALL. */
const isPosition = (tree: Tree): boolean => tree["class"] === "CONSTANT" || tree["class"] === "STAR";

export const tableTree = (name: string): Tree => ({
  type: "BASE_TABLE",
  alias: "",
  sample: null,
  schema_name: "",
  table_name: name,
  column_name_alias: [],
  catalog_name: "",
  at_clause: null,
});
