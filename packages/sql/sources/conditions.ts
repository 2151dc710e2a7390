import {
  isTree,
  knownFunctions,
  listOf,
  parseQuery,
  printExpression,
  type Tree,
  textOf,
  treesOf,
} from "../split/syntax.ts";

/** What every row of `data` that a statement uses must satisfy, by itself. */
interface Condition {
  /** An expression of SQL. */
  readonly text: string;
  /** The columns that it reads, in lower case. */
  readonly columns: readonly string[];
  /** If it compares one column with a constant. */
  readonly bound?: Bound;
}

/** `column operator constant`. */
export interface Bound {
  readonly column: string;
  readonly operator: "=" | "<" | "<=" | ">" | ">=";
  readonly constant: string;
}

/** What a statement reads of `data`: files and row groups that fail a condition need not be read. */
export interface Reads {
  readonly columns: readonly string[] | "all";
  readonly conditions: readonly Condition[];
  /** The name by which conditions call `data`. */
  readonly alias: string;
}

const operators: Readonly<Record<string, readonly [Bound["operator"], Bound["operator"]]>> = {
  COMPARE_EQUAL: ["=", "="],
  COMPARE_LESSTHAN: ["<", ">"],
  COMPARE_LESSTHANOREQUALTO: ["<=", ">="],
  COMPARE_GREATERTHAN: [">", "<"],
  COMPARE_GREATERTHANOREQUALTO: [">=", "<="],
};

/** Finds what a statement reads, from its syntax alone: columns by every name in it, and conditions where `data` is all of FROM. */
export async function readsOf(statement: string): Promise<Reads> {
  const tree = await parseQuery(statement);
  const from = tree["from_table"];
  const isPlain =
    isTree(from) && from["type"] === "BASE_TABLE" && textOf(from["table_name"]).toLowerCase() === "data";
  const alias = (isPlain && textOf(from["alias"])) || "data";
  const where = isPlain ? conjuncts(tree["where_clause"] as Tree | null) : [];
  const conditions = await Promise.all(where.map(conditionOf));
  return { columns: columnsOf(tree), alias, conditions: conditions.filter((one) => one !== undefined) };
}

function conjuncts(tree: Tree | null): readonly Tree[] {
  if (tree === null) return [];
  return tree["type"] === "CONJUNCTION_AND" ? listOf(tree["children"]).flatMap(conjuncts) : [tree];
}

async function conditionOf(tree: Tree): Promise<Condition | undefined> {
  const { volatile } = await knownFunctions();
  const all = [...treesOf(tree)];
  const isOwn = all.every(
    (one) =>
      !["SUBQUERY", "STAR", "LAMBDA", "PARAMETER"].includes(textOf(one["class"])) &&
      !volatile.has(textOf(one["function_name"]).toLowerCase()),
  );
  const columns = all.filter((one) => one["class"] === "COLUMN_REF").map((one) => namesIn(one).at(-1) ?? "");
  if (!isOwn || columns.length === 0) return undefined;
  const bound = await boundOf(tree);
  return { text: await printExpression(tree), columns, ...(bound === undefined ? {} : { bound }) };
}

async function boundOf({ type, left, right }: Tree): Promise<Bound | undefined> {
  const [operator, reversed] = operators[textOf(type)] ?? [];
  if (operator === undefined || reversed === undefined || !isTree(left) || !isTree(right)) return undefined;
  const isColumn = (one: Tree): boolean => one["class"] === "COLUMN_REF" && namesIn(one).length === 1;
  const isConstant = (one: Tree): boolean =>
    [...treesOf(one)].every((inner) => inner["class"] !== "COLUMN_REF");
  const bound = async (column: Tree, by: Bound["operator"], constant: Tree): Promise<Bound> => ({
    column: namesIn(column)[0] ?? "",
    operator: by,
    constant: await printExpression(constant),
  });
  if (isColumn(left) && isConstant(right)) return bound(left, operator, right);
  return isColumn(right) && isConstant(left) ? bound(right, reversed, left) : undefined;
}

const namesIn = (tree: Tree): readonly string[] =>
  (tree["column_names"] as readonly string[]).map((name) => name.toLowerCase());

/** Every name that may be a column; `all` if a star, a position or a whole row may be meant. */
function columnsOf(tree: Tree): readonly string[] | "all" {
  const names = new Set<string>();
  const tables = new Set(["data"]);
  for (const one of treesOf(tree)) {
    const kind = textOf(one["class"]);
    if (kind === "STAR" || kind === "POSITIONAL_REFERENCE" || textOf(one["type"]).includes("PIVOT"))
      return "all";
    if (one["type"] === "BASE_TABLE") tables.add(textOf(one["alias"]).toLowerCase());
    if (kind === "COLUMN_REF") for (const name of namesIn(one)) names.add(name);
    if (Array.isArray(one["using_columns"]))
      for (const name of one["using_columns"]) names.add(String(name).toLowerCase());
    if (one["ref_type"] === "NATURAL") return "all";
  }
  const whole = [...treesOf(tree)].some(
    (one) => one["class"] === "COLUMN_REF" && namesIn(one).length === 1 && tables.has(namesIn(one)[0] ?? ""),
  );
  return whole ? "all" : [...names];
}
