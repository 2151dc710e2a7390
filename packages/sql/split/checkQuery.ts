import { checkGrowth } from "./checkGrowth.ts";
import {
  type Functions,
  isTree,
  type Json,
  listOf,
  nameOf,
  refused,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/** Table functions that make rows of their arguments. All others read files, settings or the catalog. */
const tableFunctions = new Set(["unnest", "range", "generate_series", "repeat", "json_each", "json_tree"]);

/** Settings, the catalog, states that could be forged, and errors that would carry cells into logs. */
const otherFunctions = new Set([
  ...["error", "combine", "finalize", "current_setting", "getvariable", "getenv"],
  ...["json_serialize_plan", "vector_type"],
]);
/** A value of data that nests deeply would end the process in them; so would a cast to VARIANT. */
const recursive = new Set([
  ...["json_structure", "json_group_structure", "json_contains", "json_merge_patch"],
]);
/** What DuckDB takes for a call where no column has the name. */
const times = new Set([
  ...["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"],
  ...["current_localtime", "current_localtimestamp"],
]);

const recurses = "is not taken: it recurses, so that a value that nests deeply would end the process";

const sources = new Set("BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EXPRESSION_LIST EMPTY PIVOT".split(" "));
const nodes = new Set(["SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"]);

/**
 * Refuses what a query must not do: read anything but `tables`, answer differently from one time to the next, or recurse.
 * A session refuses files and settings as well; this says so before anything runs, and hides the catalog.
 */
export function checkQuery(
  root: Tree,
  tables: readonly string[],
  functions: Functions,
  columns: readonly string[] = [],
): void {
  checkSources(root, new Set(tables.map((name) => name.toLowerCase())));
  for (const tree of treesOf(root)) {
    const type = textOf(tree["type"]);
    if (type.endsWith("_NODE") && !nodes.has(type)) throw refused(`${type} is not taken`);
    if (isTree(tree["sample"])) throw refused("a sample is random, so its answer is not repeatable");
    if (tree["class"] === "PARAMETER") throw refused("a parameter such as $1 has no value here");
    if (tree["class"] === "COLUMN_REF" && times.has(nameOf(tree)) && !columns.includes(nameOf(tree)))
      throw refused(`${nameOf(tree)} is another each time`, "Write the value itself");
    if (tree["class"] === "CAST" && [...treesOf(tree["cast_type"])].some(isVariant))
      throw refused(`a cast to VARIANT ${recurses}`);
    if (tree["class"] === "FUNCTION" || tree["class"] === "WINDOW") checkFunction(tree, functions);
  }
  checkGrowth(root, functions);
}

/**
 * Refuses every source but `known` and the common table expressions in whose scope it is: elsewhere DuckDB would take the
 * name for one of the catalog.
 */
function checkSources(value: Json | undefined, known: ReadonlySet<string>): void {
  if (Array.isArray(value)) for (const one of value as readonly Json[]) checkSources(one, known);
  if (!isTree(value)) return;
  if ("at_clause" in value || "join_type" in value || "show_type" in value || isSource(value))
    checkSource(value, known);
  const scope = new Set(known);
  for (const entry of entriesOf(value)) {
    checkSources(entry["value"], scope);
    scope.add(textOf(entry["key"]).toLowerCase());
  }
  // What a recursive query repeats reads its own rows.
  const repeated = new Set(scope).add(textOf(value["cte_name"]).toLowerCase());
  const isRecursive = value["type"] === "RECURSIVE_CTE_NODE";
  for (const [name, one] of Object.entries(value))
    if (name !== "cte_map") checkSources(one, isRecursive && name === "right" ? repeated : scope);
}

/** The common table expressions of a node. */
const entriesOf = (node: Tree): readonly Tree[] => {
  const map = isTree(node["cte_map"]) ? node["cte_map"]["map"] : [];
  return Array.isArray(map) ? (map as readonly Tree[]) : [];
};

const isSource = (tree: Tree): boolean => "alias" in tree && "sample" in tree;

function checkSource(tree: Tree, known: ReadonlySet<string>): void {
  const type = textOf(tree["type"]);
  if (type === "SHOW_REF") throw refused("describe, show and summarize are not taken: a query is a SELECT");
  if (!sources.has(type)) throw refused(`${type.toLowerCase()} is not taken in FROM`);
  if (type === "BASE_TABLE") {
    const name = textOf(tree["table_name"]);
    // All rows that a recursive query `using key` has made so far.
    const schema = textOf(tree["schema_name"]).replace(/^recurring$/i, "");
    const isQualified = schema !== "" || textOf(tree["catalog_name"]) !== "";
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

const isVariant = ({ id, name }: Tree): boolean => /^variant$/i.test(textOf(id) || textOf(name));

function checkFunction(tree: Tree, functions: Functions): void {
  const name = textOf(tree["function_name"]).toLowerCase();
  if (tree["export_state"] === true || otherFunctions.has(name) || name.startsWith("__internal"))
    throw refused(`${name}() is not taken`);
  if (recursive.has(name)) throw refused(`${name}() ${recurses}`);
  // With one date only, it counts up to today.
  const isToday = name === "age" && listOf(tree["children"]).length < 2;
  if (functions.volatile.has(name) || name === "reservoir_quantile" || times.has(name) || isToday)
    throw refused(`${name}() has another answer each time`, "Write the value itself");
}
