import { InputError } from "../../../src/engine/model/errors.ts";
import { type Row, type Session, textLiteral, withSession } from "../duck/session.ts";

/**
 * Syntax trees of queries, as DuckDB's `json_serialize_sql` gives them: only SELECT statements have one. They say whether a
 * query is taken, never what it means.
 */
export interface Tree {
  readonly [field: string]: Json;
}
export type Json = string | number | boolean | null | readonly Json[] | Tree;

/** What a reader of queries needs to know of DuckDB: functions by kind, in lower case. */
export interface Functions {
  /** Functions whose answer depends on their arguments alone. */
  readonly consistent: ReadonlySet<string>;
  /** Functions and macros whose answer depends on more than their arguments: the clock, chance or the catalog. */
  readonly volatile: ReadonlySet<string>;
  /** Functions that may make much of little, as a number among their arguments says. */
  readonly growing: ReadonlySet<string>;
  /** Functions whose value is of a size that no argument changes: numbers, times, truth values. */
  readonly fixed: ReadonlySet<string>;
  /** Functions whose value is no larger than the largest of their arguments, although a number is among these. */
  readonly bounded: ReadonlySet<string>;
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
    throw refused(
      isOther
        ? "only a SELECT statement is taken, and a pivot only with its values in IN (…)"
        : String(message),
    );
  }
  const [first, ...more] = listOf(statements);
  if (first === undefined || more.length > 0) throw refused("one SELECT statement is needed");
  return first["node"] as Tree;
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

async function readFunctions(session: Session): Promise<Functions> {
  const rows = await session.rows(
    "select function_name, function_type, stability, macro_definition, parameter_types, return_type from duckdb_functions()",
  );
  const named = (has: (row: (typeof rows)[number]) => boolean): Set<string> =>
    new Set(rows.filter(has).map((row) => String(row["function_name"])));
  const varying = named((row) => !isFixed(row));
  const ofOne = new Set([...named(isFixed)].filter((name) => !varying.has(name)));
  // A macro such as list_sum calls an aggregate by its name.
  const aggregated = ({ macro_definition: text }: Row): boolean =>
    ofOne.has(/^list_aggr\(l, '(\w+)'\)$/.exec(String(text))?.[1] ?? "");
  const isCall = ({ function_type: type }: (typeof rows)[number]) =>
    type === "scalar" || type === "aggregate";
  return {
    consistent: named((row) => isCall(row) && row["stability"] === "CONSISTENT"),
    volatile: named(({ function_type: type, stability, macro_definition: definition }) =>
      type === "macro"
        ? /\b(FROM|current_timestamp|sleep_ms)\b/.test(String(definition))
        : type !== "table" && stability != null && stability !== "CONSISTENT",
    ),
    growing: named((row) => isCall(row) && mayGrow(row) && !bounded.has(String(row["function_name"]))),
    fixed: new Set([...ofOne, ...named(aggregated)]),
    bounded,
  };
}

const isFixed = ({ return_type: type }: Row): boolean =>
  /^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|DOUBLE|FLOAT|DECIMAL|DATE|INTERVAL|UUID|TIME.*[^\]])$/.test(
    String(type),
  );

/** A number among its arguments may say how large its value is. */
const mayGrow = ({ parameter_types: types, return_type: result }: Row): boolean =>
  Array.isArray(types) &&
  types.slice(1).some((type) => /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(String(type))) &&
  /VARCHAR|BLOB|BIT|JSON|MAP|ANY|\[|^T$/.test(String(result));

/** Those of them whose value is a part of what they are given, is no larger, or has a limit of DuckDB's own. */
const bounded = new Set([
  ...["->", "->>", "<<", ">>", "set_bit", "to_base", "json_value", "json_extract", "json_extract_string"],
  ...["json_extract_path", "json_extract_path_text", "array_extract", "list_extract", "list_element"],
  ...["struct_extract", "struct_extract_at", "array_slice", "list_slice", "left", "left_grapheme", "right"],
  ...["right_grapheme", "substr", "substring", "substring_grapheme", "regexp_extract", "regexp_extract_all"],
  ...["lag", "lead", "nth_value", "max", "min", "max_by", "min_by", "arg_max", "arg_min", "argmax", "argmin"],
  ...["arg_max_null", "arg_min_null", "arg_max_nulls_last", "arg_min_nulls_last"],
  ...["reservoir_quantile", "split_part", "array_position", "list_position"],
]);

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

function readTree(json: string): Record<string, Json> {
  try {
    return JSON.parse(json) as Record<string, Json>;
  } catch {
    // DuckDB writes a number beyond the doubles as Infinity.
    throw refused("a number is too large for a double");
  }
}

async function ask(expression: string): Promise<string> {
  const [row] = await withSession((session) => session.rows(`select ${expression} as answer`));
  return String(row?.["answer"]);
}
