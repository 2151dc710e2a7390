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

/**
 * Refuses queries in which constants make a value large. DuckDB makes one value in one step, which nothing interrupts and whose
 * memory it does not count.
 *
 * Not promised: a bound of what is made of data, such as a `replace` with many matches.
 */

const growthMax = 100_000;

/** The most that a value of a query grows by constants, as `growth` counts it. Throws `InputError` where that is too much. */
export function checkGrowth(root: Tree, functions: Functions): void {
  // Rows of FROM are made in batches, and interrupted between them.
  const inFrom = new Set(
    [...treesOf(root)].filter(({ type }) => type === "TABLE_FUNCTION").map((one) => one["function"]),
  );
  const own = (call: Tree): number => (inFrom.has(call) ? 1 : ownGrowth(call, functions));
  const found = growth(root, own);
  if (found <= growthMax) return;
  throw refused(
    `functions that make one large value of another make up to ${found}, and ${growthMax} is the limit`,
  );
}

/** Indexes of the arguments that say how much a function makes of little. */
const growing: Readonly<Record<string, (args: readonly Tree[]) => readonly (Tree | undefined)[]>> = {
  ...{ repeat: (args) => [args[1]], lpad: (args) => [args[1]], rpad: (args) => [args[1]] },
  ...{ list_resize: (args) => [args[1]], array_resize: (args) => [args[1]] },
  ...{
    bitstring: (args) => [args[1]],
    equi_width_bins: (args) => [args[2]],
    approx_top_k: (args) => [args[1]],
  },
  ...{ bitstring_agg: (args) => args.slice(1) },
};

/** How much a call makes of its arguments. Throws `InputError` where no constant says so. */
function ownGrowth(call: Tree, functions: Functions): number {
  const name = functionOf(call);
  const args = listOf(call["children"]);
  if (reduces.has(name)) checkReduce(name, args);
  if (name === "printf" || name === "format") return formatted(name, args[0]);
  // One that a later DuckDB brings counts by all of its arguments.
  const counts = growing[name]?.(args) ?? (functions.growing.has(name) ? args : []);
  let most = 1;
  for (const count of counts) {
    const value = constantOf(count);
    if (typeof value !== "number" || Math.abs(value) > growthMax)
      throw refused(`${name}() needs whole numbers up to ${growthMax}, as it makes one value of that size`);
    most = Math.max(most, Math.abs(value));
  }
  return padding.has(name) && most <= padMax ? 1 : most;
}

const reduces = new Set(["list_reduce", "array_reduce", "reduce"]);
/** Of two numbers they make one, and of two other values no larger one. */
const notLarger = new Set(["+", "-", "*", "/", "//", "%", "&", "|", "greatest", "least"]);

/** A call that takes what was made so far twice, such as `a || a`, doubles it for each element of the list. */
function checkReduce(name: string, args: readonly Tree[]): void {
  const lambda = args.find((one) => one["class"] === "LAMBDA");
  const [first] = listOf(isTree(lambda?.["lhs"]) ? lambda["lhs"]["children"] : []);
  if (lambda === undefined || first === undefined) return;
  const takes = (tree: Tree): boolean =>
    [...treesOf(tree)].some((one) => one["class"] === "COLUMN_REF" && nameOf(one) === nameOf(first));
  const doubles = [...treesOf(lambda["expr"])].some(
    (one) =>
      one["class"] === "FUNCTION" &&
      !notLarger.has(functionOf(one)) &&
      listOf(one["children"]).filter(takes).length > 1,
  );
  if (doubles)
    throw refused(`${name}() with a function that takes what was made so far twice may make one large value`);
}

/** Their value has that size, whatever they are given, and a few characters are not large. */
const padding = new Set(["lpad", "rpad"]);
const padMax = 64;

const constantOf = (tree: Tree | undefined): Json | undefined =>
  tree?.["class"] === "CONSTANT" && isTree(tree["value"]) ? tree["value"]["value"] : undefined;

/** The sum of all widths and precisions in a constant format. */
function formatted(name: "printf" | "format", format: Tree | undefined): number {
  const text = constantOf(format);
  if (typeof text !== "string")
    throw refused(`${name}() needs a constant format, as that says how large its value is`);
  const fields = name === "printf" ? /%[^a-zA-Z%]*/g : /\{[^}]*/g;
  const specs = (name === "printf" ? text : text.replaceAll("{{", "")).match(fields) ?? [];
  const widths = specs.flatMap((spec) => spec.match(/\d+/g) ?? []).map(Number);
  const all = widths.reduce((sum, width) => sum + width, 1);
  // A width may also be an argument: %*d or {:{}}.
  if (all > growthMax || specs.some((spec) => /\*|\{.*\{/.test(spec)))
    throw refused(
      `${name}() needs widths in its format, of ${growthMax} together, as it makes one value of that size`,
    );
  return all <= padMax ? 1 : all;
}

/** Calls whose value is no larger than their arguments together. */
const adding = new Set([
  "||",
  "concat",
  "list_value",
  "list_pack",
  "struct_pack",
  "row",
  "map",
  "+",
  "-",
  "*",
  "/",
]);

/**
 * An upper bound for how much larger a value may be than the data, by constants: a call may make its own count of each of its
 * arguments and of each of these another, as `replace` does, and an outer query may do so with the columns of inner ones.
 */
function growth(
  value: Json | undefined,
  own: (call: Tree) => number,
  ofQuery = (query: Tree): number => growthOfQuery(query, own),
): number {
  const of = (one: Json | undefined): number => growth(one, own, ofQuery);
  const most = (values: readonly Json[]): number =>
    values.reduce<number>((max, one) => Math.max(max, of(one)), 1);
  if (Array.isArray(value)) return most(value as readonly Json[]);
  if (!isTree(value)) return 1;
  if (isQuery(value)) return ofQuery(value);
  if (value["class"] !== "FUNCTION") return most(Object.values(value));
  const { children, ...rest } = value;
  const args = listOf(children);
  const all = args.map(of);
  const product = adding.has(functionOf(value))
    ? all.reduce((sum, one) => sum + one - 1, 1)
    : all.reduce((product, one) => product * one, 1);
  return Math.max((isOfNumbers(value, args) ? 1 : product) * own(value), most(Object.values(rest)));
}

/** The columns of its sources go into its expressions. */
function growthOfQuery(query: Tree, own: (call: Tree) => number): number {
  const { from_table: from = null, cte_map: tables = null, ...parts } = query;
  const inner = [from, tables].flatMap((one) => [...treesOf(one, (tree) => !isQuery(tree))]).filter(isQuery);
  const ofSources = inner.reduce((product, one) => product * growthOfQuery(one, own), 1);
  const ofFrom = growth(from, own, () => 1);
  return ofSources * ofFrom * growth(Object.values(parts), own);
}

/** Whether its rows are numbers, however many. */
const isOfNumbers = (call: Tree, [list]: readonly Tree[]): boolean =>
  functionOf(call) === "unnest" &&
  list !== undefined &&
  ["range", "generate_series"].includes(functionOf(list));

const functionOf = (call: Tree): string => textOf(call["function_name"]).toLowerCase();
const isQuery = ({ type }: Tree): boolean => textOf(type).endsWith("_NODE");
