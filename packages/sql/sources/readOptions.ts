import { CalculationError } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";

/** Options of DuckDB's reader by name, each a literal of SQL. */
export type ReadOptions = Readonly<Record<string, string>>;

/** Those that say what a file holds. What would read more files, hide rejects or name local files is not among them. */
const known = {
  csv: [
    ..."delim sep quote escape comment header skip nullstr dateformat timestampformat thousands".split(" "),
    ..."decimal_separator encoding null_padding strict_mode names types dtypes columns all_varchar".split(
      " ",
    ),
    ..."normalize_names union_by_name allow_quoted_nulls force_not_null auto_type_candidates new_line".split(
      " ",
    ),
  ],
  json: [
    ..."dateformat timestampformat maximum_depth field_appearance_threshold map_inference_threshold".split(
      " ",
    ),
    ..."convert_strings_to_integers records types columns".split(" "),
  ],
  parquet: ["binary_as_string", "union_by_name"],
} as const;

/**
 * Parses `dateformat='%b %d %Y', thousands=','`: each value is a constant, a list or a struct of them. Throws
 * `CalculationError` for anything else.
 */
export async function parseReadOptions(
  text: string,
  kind: keyof typeof known,
  session: Session,
): Promise<ReadOptions> {
  if (text.trim() === "") return {};
  const call = `select * from read_csv('', ${text}\n)`;
  const [row] = await session.rows(`select json_serialize_sql(${textLiteral(call)}) as tree`);
  const tree = JSON.parse(String(row?.["tree"])) as Node;
  const children =
    tree.statements?.length === 1 ? tree.statements[0]?.node?.from_table?.function?.children : undefined;
  if (children === undefined) throw bad(text, "must be options as in name='value', skip=1, names=['a', 'b']");
  const options: Record<string, string> = {};
  for (const { type, left, right } of children.slice(1)) {
    const [name = "", more] = left?.column_names ?? [];
    if (type !== "COMPARE_EQUAL" || right === undefined || more !== undefined)
      throw bad(text, "each option is name=value");
    if (!(known[kind] as readonly string[]).includes(name.toLowerCase()))
      throw bad(text, `${name} is none of ${known[kind].join(", ")}`);
    const value = constantOf(right);
    if (value === undefined) throw bad(text, `${name} must be a constant, a list or a struct of them`);
    options[aliases[name.toLowerCase()] ?? name.toLowerCase()] = value;
  }
  return options;
}

const aliases: Readonly<Record<string, string>> = { sep: "delim", dtypes: "types" };

/** The parts of DuckDB's syntax tree that a call of a reader has. */
interface Node {
  readonly statements?: readonly { readonly node?: { readonly from_table?: { readonly function?: Node } } }[];
  readonly children?: readonly Node[];
  readonly type?: string;
  readonly class?: string;
  readonly alias?: string;
  readonly left?: { readonly column_names?: readonly string[] };
  readonly right?: Node;
  readonly child?: Node;
  readonly function_name?: string;
  readonly value?: { readonly is_null: boolean; readonly value?: unknown };
}

function constantOf(node: Node): string | undefined {
  const { class: kind, value, child, children = [], function_name: called } = node;
  if (kind === "CONSTANT" && value !== undefined) {
    if (value.is_null) return undefined;
    return typeof value.value === "number" ? String(value.value) : textLiteral(String(value.value));
  }
  // `true` is a cast of a text.
  if (kind === "CAST" && child?.class === "CONSTANT")
    return String(child.value?.value).startsWith("t") ? "true" : "false";
  const inner = children.map((one) => [one.alias ?? "", constantOf(one)] as const);
  if (kind !== "FUNCTION" || inner.some(([, one]) => one === undefined)) return undefined;
  if (called === "list_value") return `[${inner.map(([, one]) => one).join(", ")}]`;
  if (called === "struct_pack")
    return `{${inner.map(([name, one]) => `${textLiteral(name)}: ${one}`).join(", ")}}`;
  return undefined;
}

const bad = (text: string, why: string): CalculationError =>
  new CalculationError("bad-query", `--read ${JSON.stringify(text.slice(0, 200))}: ${why}`);
