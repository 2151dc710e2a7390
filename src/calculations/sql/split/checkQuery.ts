import { type Functions, isTree, refused, type Tree, textOf, treesOf } from "./syntax.ts";

/** Table functions that make rows of their arguments. All others read files, settings or the catalog. */
const tableFunctions = new Set(["unnest", "range", "generate_series", "repeat", "json_each", "json_tree"]);

const otherFunctions = new Set(["combine", "finalize", "current_setting", "getvariable", "getenv"]);
const sources = new Set(["BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY"]);
const nodes = new Set(["SELECT_NODE", "SET_OPERATION_NODE"]);

/**
 * Refuses what a query must not do: read anything but `tables`, answer differently from one time to the next, or recurse.
 * A session refuses files and settings as well; this says so before anything runs, and hides the catalog.
 */
export function checkQuery(root: Tree, tables: readonly string[], functions: Functions): void {
  const known = new Set(tables.map((name) => name.toLowerCase()));
  for (const tree of treesOf(root))
    if (isTree(tree["cte_map"]))
      for (const one of entriesOf(tree)) known.add(textOf(one["key"]).toLowerCase());
  for (const tree of treesOf(root)) {
    const type = textOf(tree["type"]);
    if (type === "RECURSIVE_CTE_NODE") throw refused("a recursive query may never end");
    if (type.endsWith("_NODE") && !nodes.has(type)) throw refused(`${type} is not taken`);
    if (isTree(tree["sample"])) throw refused("a sample is random, so its answer is not repeatable");
    if (tree["class"] === "PARAMETER") throw refused("a parameter such as $1 has no value here");
    if (tree["class"] === "FUNCTION" || tree["class"] === "WINDOW") checkFunction(tree, functions);
    if ("at_clause" in tree || "join_type" in tree || "show_type" in tree || isSource(tree))
      checkSource(tree, known);
  }
}

/** The common table expressions of a node. */
export const entriesOf = (node: Tree): readonly Tree[] => {
  const map = isTree(node["cte_map"]) ? node["cte_map"]["map"] : [];
  return Array.isArray(map) ? (map as readonly Tree[]) : [];
};

const isSource = (tree: Tree): boolean => "alias" in tree && "sample" in tree;

function checkSource(tree: Tree, known: ReadonlySet<string>): void {
  const type = textOf(tree["type"]);
  if (!sources.has(type)) throw refused(`${type.toLowerCase()} is not taken in FROM`);
  if (type === "BASE_TABLE") {
    const name = textOf(tree["table_name"]);
    const isQualified = textOf(tree["schema_name"]) !== "" || textOf(tree["catalog_name"]) !== "";
    if (isQualified || !known.has(name.toLowerCase()))
      throw refused(
        `there is no table ${name}: tables are ${[...known].join(", ")}`,
        "--table NAME=PATH gives one",
      );
  }
  if (type === "TABLE_FUNCTION" && isTree(tree["function"])) {
    const name = textOf(tree["function"]["function_name"]).toLowerCase();
    if (!tableFunctions.has(name))
      throw refused(`${name}() is not taken: a query reads data and the tables given with --table only`);
  }
}

function checkFunction(tree: Tree, functions: Functions): void {
  const name = textOf(tree["function_name"]).toLowerCase();
  if (tree["export_state"] === true || otherFunctions.has(name)) throw refused(`${name}() is not taken`);
  if (name !== "error" && functions.volatile.has(name))
    throw refused(`${name}() has another answer each time`, "Write the value itself");
}
