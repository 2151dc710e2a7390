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
 * Not promised: a bound of what is made of data, such as one `replace` with many matches.
 */

const growthMax = 100_000;

/** Throws `InputError` where constants, or calls of calls, may make a value that many times as large as the data. */
export function checkGrowth(root: Tree, functions: Functions): void {
  const found = largestOf(root, functions);
  if (found <= growthMax) return;
  throw refused(
    `functions that make one large value of another make up to ${found}, and ${growthMax} is the limit`,
  );
}

/** Upper bounds, in sizes of what the data has: of each value of a row, and of its values together. */
interface Size {
  readonly value: number;
  readonly row: number;
}

interface Scope extends Size {
  /** Of other sizes than the columns of the sources: what the query names itself, a whole row, what a lambda takes. */
  readonly names: ReadonlyMap<string, number>;
  readonly tables: ReadonlyMap<string, Size>;
}

const ofData: Size = { value: 1, row: 1 };

/** The largest value that a query makes on its way, counted from the innermost sources to the outside. */
function largestOf(root: Tree, functions: Functions): number {
  let largest = 1;
  const most = (values: readonly Json[], scope: Scope): number =>
    values.reduce<number>((max, one) => Math.max(max, of(one, scope)), 1);

  function of(tree: Json | undefined, scope: Scope): number {
    if (Array.isArray(tree)) return most(tree, scope);
    if (!isTree(tree)) return 1;
    const size = isQuery(tree) ? ofQuery(tree, scope).value : ofExpression(tree, scope);
    largest = Math.max(largest, size);
    return size;
  }

  function ofExpression(tree: Tree, scope: Scope): number {
    const inner = (): number => most(Object.values(tree), scope);
    switch (tree["class"]) {
      case "CONSTANT":
        return lengthOf(tree) > fewCharacters ? lengthOf(tree) : 1;
      case "COLUMN_REF":
        return Math.max(scope.value, ...namesOf(tree).map((name) => sizeNamed(name, scope)));
      case "POSITIONAL_REFERENCE":
        return scope.value;
      case "STAR":
        return Math.max(scope.row, inner());
      case "CAST":
        return inner() * castTo(textOf(Object(tree["cast_type"])["id"]));
      case "COMPARISON":
      case "CONJUNCTION":
      case "BETWEEN":
        inner();
        return 1;
      case "FUNCTION":
      case "WINDOW":
        return ofCall(tree, scope);
      default:
        return inner();
    }
  }

  function ofCall(call: Tree, scope: Scope): number {
    const name = functionOf(call);
    const { children, ...rest } = call;
    of(Object.values(rest), scope);
    const args = listOf(children);
    const takesLambda = takers.test(name);
    const plain = args.filter((one) => !(takesLambda && one["class"] === "LAMBDA"));
    const sizes = plain.map((one) => of(one, scope));
    const larger = Math.max(1, ...sizes);
    const lambdas = args.filter((one) => !plain.includes(one));
    if (/reduce$/.test(name)) for (const one of lambdas) checkReduce(name, one, scope);
    const bodies = lambdas.map((one) => ofLambda(one, larger, scope));
    const own = ownGrowth(call, functions);
    if (isNumber(call, functions) || isOfNumbers(call, args)) return 1;
    if (notLarger.has(name) || functions.bounded.has(name)) return larger * own;
    const together = sizes.reduce((sum, size, at) => sum + (isConstant(plain[at]) ? size - 1 : size), 0);
    if (adding.has(name)) return Math.max(1, together);
    const made = sizes.filter((_, at) => !isConstant(plain[at]));
    const each = [...made, ...bodies].reduce((product, size) => product * size, 1);
    return own * Math.max(together, each) * (own > 1 ? 1 : (changing[name] ?? 2));
  }

  /** Of its answer for one element. One that takes a column, or an element of a list around, makes that for each element. */
  function ofLambda(lambda: Tree, element: number, scope: Scope): number {
    const { lhs, expr } = lambda;
    const taken = namesTaken(lhs);
    const inner = [...treesOf(expr)].flatMap((one) =>
      one["class"] === "LAMBDA" ? namesTaken(one["lhs"]) : [],
    );
    const isOther = (one: Tree): boolean => isColumn(one) && ![...taken, ...inner].includes(nameOf(one));
    const others = !(isTree(expr) && isNumber(expr, functions)) && [...treesOf(expr)].some(isOther);
    const names = new Map([...scope.names, ...taken.map((name) => [name, element] as const)]);
    return of(expr, { ...scope, value: others ? scope.value : 1, names }) * (others ? matches : 1);
  }

  /** What makes more of what was made so far, such as `a || a`, does so for each element of the list. */
  function checkReduce(name: string, lambda: Tree, scope: Scope): void {
    const [first] = namesTaken(lambda["lhs"]);
    if (first === undefined) return;
    const sized = (size: number): number => {
      const names = new Map(scope.names).set(first, size);
      return of(lambda["expr"], { ...scope, value: 1, names });
    };
    if (sized(2) - sized(1) > 1)
      throw refused(
        `${name}() with a function that makes more of what was made so far may make one large value`,
      );
  }

  /** Steps are as many as the data say. A session ends for its memory while a value grows from one to the next. */
  function ofRecursion({ left, right, cte_name: name }: Tree, scope: Scope): Size {
    const { value, row } = ofSource(left, scope);
    const step = (times: number): Size => {
      const tables = new Map(scope.tables);
      tables.set(textOf(name).toLowerCase(), { value: times * value, row: times * row });
      return ofSource(right, { ...scope, tables });
    };
    const once = step(1);
    if (step(2).value - once.value > stepMax * value)
      throw refused(
        `each step of a recursive query may make one large value of the step before: at most ${stepMax} times as large`,
      );
    return { value: matches * Math.max(value, once.value), row: matches * Math.max(row, once.row) };
  }

  function ofQuery(query: Tree, outer: Scope): Size {
    if (query["type"] === "RECURSIVE_CTE_NODE") return ofRecursion(query, outer);
    const { cte_map: ctes, from_table: from, select_list: items, ...parts } = query;
    const tables = new Map(outer.tables);
    for (const { key, value } of listOf(isTree(ctes) ? ctes["map"] : []))
      tables.set(textOf(key).toLowerCase(), ofSource(value, { ...outer, tables }));
    if (items === undefined) {
      const size = ofSource(Object.values(parts), { ...outer, tables });
      of(parts["modifiers"], { ...outer, ...size, tables });
      return size;
    }
    const sources = withSource(from, { ...outer, row: 0, tables });
    const names = new Map(sources.names);
    const scope = { ...sources, names };
    let [value, row] = [1, 0];
    for (const item of listOf(items)) {
      const size = of(item, scope);
      row += size;
      // A star gives all columns, each as large as it was.
      const own = item["class"] === "STAR" ? Math.max(scope.value, of(item["replace_list"], scope)) : size;
      value = Math.max(value, own);
      const alias = textOf(item["alias"]).toLowerCase();
      // The items behind it, and all other parts, may name it.
      if (alias !== "") names.set(alias, own);
    }
    of(Object.values(parts), scope);
    return { value, row };
  }

  /** Of the queries in a tree. */
  function ofSource(tree: Json | undefined, scope: Scope): Size {
    const queries = [...treesOf(tree, (one) => !isQuery(one))].filter(isQuery);
    const sizes = queries.map((one) => ofQuery(one, scope));
    const [value, row] = (["value", "row"] as const).map((key) =>
      Math.max(1, ...sizes.map((one) => one[key])),
    );
    return { value: value as number, row: row as number };
  }

  /** The scope with the columns of a source of FROM, and those of sources on its left, which it may take itself. */
  function withSource(tree: Json | undefined, scope: Scope): Scope {
    if (!isTree(tree)) return scope;
    const { type, left, right, ...rest } = tree;
    if (type === "JOIN") {
      const joined = withSource(right, withSource(left, scope));
      of(Object.values(rest), joined);
      return joined;
    }
    const size = ofTable(tree, scope);
    const { value } = size;
    const row = scope.row + size.row;
    const name = textOf(tree["alias"]) || textOf(tree["table_name"]) || unnamed;
    const names = new Map(scope.names).set(name.toLowerCase(), size.row);
    return { ...scope, value: Math.max(scope.value, value), row, names };
  }

  function ofTable(tree: Tree, scope: Scope): Size {
    switch (tree["type"]) {
      case "BASE_TABLE":
        return scope.tables.get(textOf(tree["table_name"]).toLowerCase()) ?? ofData;
      case "SUBQUERY":
        return ofSource(tree["subquery"], scope);
      case "PIVOT": {
        const { source, ...rest } = tree;
        const inner = withSource(source, { ...scope, row: 0 });
        const value = Math.max(inner.value, of(Object.values(rest), inner));
        // A column for each value and each aggregate.
        return {
          value,
          row: inner.row + value * [...treesOf(rest["pivots"])].length * listOf(rest["aggregates"]).length,
        };
      }
      case "TABLE_FUNCTION": {
        // Its rows are made in batches, and interrupted between them.
        const args = listOf(Object(tree["function"])["children"]);
        const sizes = args.map((one) => [of(one, scope), isRange(one)] as const);
        const value = sizes.reduce((max, [size, ofNumbers]) => (ofNumbers ? max : Math.max(max, size)), 1);
        return { value, row: value };
      }
      default: {
        const value = of(Object.values(tree), scope);
        return { value, row: value * [...treesOf(tree)].length };
      }
    }
  }

  const { value } = ofQuery(root, { ...ofData, names: new Map(), tables: new Map() });
  return Math.max(largest, value);
}

/** How many times a value may be put into one that nothing but the data bounds. */
const matches = 300;

/** How much larger a value may get in one step of a recursive query. */
const stepMax = 4;

const takers = /^(list|array)_(transform|apply|filter|reduce)$|^(apply|filter|reduce)$/;

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
  if (name === "printf" || name === "format") return formatted(name, args[0]);
  if (puttingIn.has(name)) return timesPut(name, args);
  // One that a later DuckDB brings counts by all of its arguments.
  const counts = growing[name]?.(args) ?? (functions.growing.has(name) ? args : []);
  let most = 1;
  for (const count of counts) {
    const value = constantOf(count);
    if (typeof value !== "number" || Math.abs(value) > growthMax)
      throw refused(`${name}() needs whole numbers up to ${growthMax}, as it makes one value of that size`);
    most = Math.max(most, Math.abs(value));
  }
  return padding.has(name) && most <= fewCharacters ? 1 : most;
}

/** Calls that put one argument into another as often as that has matches or elements. */
const puttingIn = new Set(["replace", "regexp_replace", "array_to_string"]);

/** Only a constant says how long it is, and what takes the place of a longer text makes nothing larger. */
function timesPut(name: string, args: readonly Tree[]): number {
  const put = constantOf(args[name === "array_to_string" ? 1 : 2]);
  if (typeof put !== "string") return matches;
  const place = name === "replace" ? constantOf(args[1]) : undefined;
  return Math.max(1, typeof place === "string" && place !== "" ? put.length / place.length : put.length + 1);
}

/** Their value has that size, whatever they are given, and a few characters are not large. */
const padding = new Set(["lpad", "rpad"]);
const fewCharacters = 64;

const lengthOf = (constant: Tree): number => {
  const value = constantOf(constant);
  return typeof value === "string" ? value.length : 0;
};

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
  // A field may name any argument, and each of them the same one.
  return Math.max(specs.length, all <= fewCharacters ? 1 : all);
}

/** Calls whose value is no larger than the largest of their arguments. */
const notLarger = new Set(
  (
    "- * / // % & | greatest least min max lower upper trim ltrim rtrim reverse strip_accents first last any_value mode " +
    "list array_agg string_agg list_sort list_distinct list_filter list_reverse unnest nullif printf format"
  ).split(" "),
);
/** Calls whose value is no larger than their arguments together. */
const adding = new Set(
  (
    "|| concat concat_ws list_value list_pack struct_pack row map + list_concat list_append list_prepend struct_insert " +
    "json_object json_array"
  ).split(" "),
);
/** How much larger a call writes what it is given, of those that are known; any other counts twice. */
const changing: Readonly<Record<string, number>> = {
  ...{ bin: 8, to_binary: 8, url_encode: 3, to_json: 6, json_quote: 6, array_to_json: 6, row_to_json: 6 },
  ...{ lpad: 1, rpad: 1, replace: 1, regexp_replace: 1, array_to_string: 1 },
};
const castTo = (type: string): number => (type === "BIT" ? 8 : /VARCHAR|BLOB|JSON/.test(type) ? 2 : 1);

const isOfNumbers = (call: Tree, [list]: readonly Tree[]): boolean =>
  functionOf(call) === "unnest" && list !== undefined && isRange(list);
const isRange = (call: Tree): boolean => ["range", "generate_series"].includes(functionOf(call));
/** Lists can be added too, but to no number. */
const isNumber = (tree: Tree, functions: Functions): boolean =>
  typeof constantOf(tree) === "number" ||
  functions.fixed.has(functionOf(tree)) ||
  (functionOf(tree) === "+" && listOf(tree["children"]).some((one) => isNumber(one, functions)));

const isConstant = (tree: Tree | undefined): boolean => tree?.["class"] === "CONSTANT";
const namesTaken = (lhs: Json | undefined): readonly string[] =>
  [...treesOf(lhs)].filter(isColumn).map((one) => nameOf(one));
const isColumn = (tree: Tree): boolean => tree["class"] === "COLUMN_REF";
const namesOf = ({ column_names: names }: Tree): readonly string[] =>
  Array.isArray(names) ? names.map((name) => String(name).toLowerCase()) : [];
/** How DuckDB names a subquery without an alias. */
const unnamed = "unnamed_subquery";
const sizeNamed = (name: string, { names, row }: Scope): number =>
  names.get(name) ?? (name.startsWith(unnamed) ? row : 1);

const functionOf = (call: Tree): string => textOf(call["function_name"]).toLowerCase();
const isQuery = ({ type }: Tree): boolean => textOf(type).endsWith("_NODE");
