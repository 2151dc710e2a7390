import { InputError } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral, withSession } from "../duck/session.ts";

/**
 * Syntax trees of queries, as DuckDB's `json_serialize_sql` gives them and `json_deserialize_sql` takes them. Only SELECT
 * statements have one. A tree is never changed: each step makes another.
 */
export interface Tree {
  readonly [field: string]: Json;
}
export type Json = string | number | boolean | null | readonly Json[] | Tree;

/** What a reader of queries needs to know of DuckDB: functions by kind, in lower case. */
export interface Functions {
  readonly aggregates: ReadonlySet<string>;
  /** Functions and macros whose answer depends on more than their arguments: the clock, chance or the catalog. */
  readonly volatile: ReadonlySet<string>;
}

export const isTree = (value: Json | undefined): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const listOf = (value: Json | undefined): readonly Tree[] =>
  Array.isArray(value) ? value.filter(isTree) : [];

export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** The last name of a column reference; in lower case, unless it is to be shown. */
export function nameOf(tree: Tree, lower = true): string {
  const names = tree["column_names"];
  const name = Array.isArray(names) ? String(names.at(-1)) : "";
  return lower ? name.toLowerCase() : name;
}

/** A reference to a column. */
export const columnTree = (...names: readonly string[]): Tree => ({
  class: "COLUMN_REF",
  type: "COLUMN_REF",
  alias: "",
  column_names: names,
});

/** The error for a query that is not taken, as a sentence that says why. */
export const refused = (why: string, advice = ""): InputError =>
  new InputError("invalid", "bad-query", `query: ${why}${advice === "" ? "" : `. ${advice}`}`, {
    field: "query",
  });

/** Reads one SELECT statement. Throws `InputError` for anything else. */
export async function parseQuery(query: string): Promise<Tree> {
  // DuckDB's texts end at the character 0.
  if (query.includes("\0") || !query.isWellFormed()) throw refused("it has characters that are no text");
  const answer = await ask(`json_serialize_sql(${textLiteral(query)})`);
  const { error, error_message: message, statements } = readTree(answer);
  if (error !== false) {
    const isOther = String(message).startsWith("Only SELECT");
    throw refused(isOther ? "only a SELECT statement is taken" : String(message));
  }
  const [first, ...more] = listOf(statements);
  if (first === undefined || more.length > 0) throw refused("one SELECT statement is needed");
  return first["node"] as Tree;
}

/** The text of a query's tree. */
export const printQuery = (node: Tree): Promise<string> => printAsIs(replaced(node, castDouble));

/** DuckDB prints the double 1e3 as 1000.0, which it reads as a decimal. */
function castDouble(tree: Tree): Tree | undefined {
  const value = tree["class"] === "CONSTANT" && isTree(tree["value"]) ? tree["value"] : undefined;
  const type = isTree(value?.["type"]) ? value["type"] : undefined;
  if (type === undefined || type["id"] !== "DOUBLE" || value?.["is_null"] !== false) return undefined;
  const text = String(value["value"]).replace(numberMark, "");
  const child = { ...tree, alias: "", value: { ...value, type: { ...type, id: "VARCHAR" }, value: text } };
  return { ...cast, alias: textOf(tree["alias"]), child, cast_type: type };
}

const cast = { class: "CAST", type: "OPERATOR_CAST", try_cast: false };

async function printAsIs(node: Tree): Promise<string> {
  const statements = [{ node, named_param_map: [] }];
  return ask(`json_deserialize_sql(${textLiteral(writeTree({ error: false, statements }))}::json)`);
}

/** The tree of an expression. */
export async function parseExpression(text: string): Promise<Tree> {
  const [only] = listOf((await parseQuery(`select ${text}`))["select_list"]);
  if (only === undefined) throw refused(`${text} is no expression`);
  return only;
}

/** The text of an expression's tree, without its alias. */
export const printExpression = (tree: Tree): Promise<string> => selected(tree, printQuery);

/** The name that DuckDB gives a column of an expression without an alias. */
export const columnName = (tree: Tree): Promise<string> => selected(tree, printAsIs);

async function selected(tree: Tree, print: (node: Tree) => Promise<string>): Promise<string> {
  const text = await print({ ...(await emptyQuery()), select_list: [{ ...tree, alias: "" }] });
  return text.slice("SELECT ".length);
}

/** What `make` gives, made once in this thread and again where that failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** The functions that DuckDB has. */
export const knownFunctions = once(() => withSession(readFunctions));

/** The tree of a query that reads nothing. */
export const emptyQuery = once(() => parseQuery("select 1"));

async function readFunctions(session: Session): Promise<Functions> {
  const rows = await session.rows(
    "select function_name, function_type, stability, macro_definition from duckdb_functions()",
  );
  const named = (has: (row: (typeof rows)[number]) => boolean): Set<string> =>
    new Set(rows.filter(has).map((row) => String(row["function_name"])));
  return {
    aggregates: named((row) => row["function_type"] === "aggregate"),
    volatile: named(({ function_type: type, stability, macro_definition: definition }) =>
      type === "macro"
        ? /\b(FROM|current_timestamp|sleep_ms)\b/.test(String(definition))
        : type === "scalar" && stability !== "CONSISTENT",
    ),
  };
}

/** Replaces trees from the root down: what `change` gives for one is taken as it is, and undefined looks within it. */
export function replaced<T extends Json>(value: T, change: (tree: Tree) => Json | undefined): T {
  if (Array.isArray(value)) return value.map((one: Json) => replaced(one, change)) as unknown as T;
  if (!isTree(value)) return value;
  const other = change(value);
  if (other !== undefined) return other as T;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaced(one, change)])) as T;
}

/** All trees of a value, from the root down; `into` says whether to look within one. */
export function* treesOf(
  value: Json | undefined,
  into: (tree: Tree) => boolean = () => true,
): Generator<Tree> {
  if (Array.isArray(value)) for (const one of value as readonly Json[]) yield* treesOf(one, into);
  if (!isTree(value)) return;
  yield value;
  if (into(value)) for (const one of Object.values(value)) yield* treesOf(one, into);
}

/** Reads a tree without its positions. Numbers that JavaScript would write otherwise, as 1.0 or 2^60, become marked texts. */
function readTree(json: string): Record<string, Json> {
  const exact = (name: string, value: unknown, context?: { readonly source?: string }): unknown => {
    if (name === "query_location") return undefined;
    const source = typeof value === "number" ? context?.source : undefined;
    return source === undefined || source === String(value) ? value : `${numberMark}${source}`;
  };
  try {
    return JSON.parse(json, exact) as Record<string, Json>;
  } catch {
    // DuckDB writes a number beyond the doubles as Infinity.
    throw refused("a number is too large for a double");
  }
}

const numberMark = "\u0000";
const writeTree = (value: unknown): string =>
  JSON.stringify(value).replace(/"\\u0000(-?\d[\d.eE+-]*)"/g, "$1");

async function ask(expression: string): Promise<string> {
  const [row] = await withSession((session) => session.rows(`select ${expression} as answer`));
  return String(row?.["answer"]);
}
