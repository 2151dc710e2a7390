import { type Expression, indexOf, isRef, type Plan, tableOf } from "./plan.ts";
import type { StandIns } from "./writePlan.ts";

/**
 * Whether two plans compute the same in the same way: all of both is compared but names, places in the text and numbers
 * of tables, and projections that only choose columns vanish.
 */

/** Fields that say nothing of what is computed. */
const withoutMeaning = new Set(
  (
    "alias query_location table_index group_index aggregate_index groupings_index window_index unnest_index mark_index " +
    "is_operator estimated_cardinality ctename bound_columns column_count allow_out_of_order distinct_validity extra_info " +
    "ordinality_idx delim_flipped user_name catalog_name schema_name original_arguments"
  ).split(" "),
);

type Column = number | string | undefined;
type Fields = Record<string, unknown>;

/** A node in normal form, and which of its columns each one is that the plan gave. */
interface Normal {
  readonly tree: unknown;
  readonly columns: readonly Column[];
}

/** The normal form of what a plan computes of its first `width` columns. */
export function normalText(plan: Plan, width: number, standIns: StandIns = new Map()): string {
  const { tree, columns } = new Normalizer(standIns).node(plan);
  return JSON.stringify({ tree, columns: columns.slice(0, width) });
}

/** The normal form of a node, whichever of its columns are used. */
export const nodeText = (plan: Plan, standIns: StandIns = new Map()): string =>
  JSON.stringify(new Normalizer(standIns).node(plan).tree);

/** The normal form of expressions over a node. */
export function expressionsText(expressions: unknown, below: Plan): string {
  const { columns } = new Normalizer(new Map()).node(below);
  return JSON.stringify(plain(expressions, columns));
}

const wholes = ["INTEGER", "BIGINT", "HUGEINT"];

function plain(value: unknown, columns: readonly Column[] | undefined): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one, columns));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return value;
  const one = value as Expression;
  if (one.expression_class === "BOUND_REF" && columns !== undefined)
    return { ref: columns[indexOf(one)], type: plain(one.return_type, undefined) };
  const constant = one.expression_class === "BOUND_CAST" ? castConstant(one) : undefined;
  if (constant !== undefined) return constant;
  const fields: Fields = {};
  for (const [name, field] of Object.entries(value))
    if (!withoutMeaning.has(name) && field !== null)
      fields[name] = plain(field, name === "lambda_expr" ? undefined : columns);
  return fields;
}

/** A small literal under a cast to a type of whole numbers is that constant, and a text cast to text is the text. */
function castConstant({ child, try_cast, return_type }: Expression): unknown {
  const value = child?.expression_class === "BOUND_CONSTANT" ? child.value : undefined;
  if (value === undefined || value.is_null || try_cast) return undefined;
  const isWhole = value.type.id === "INTEGER" && wholes.includes(return_type?.id ?? "");
  const isText = value.type.id === "VARCHAR" && return_type?.id === "VARCHAR" && !return_type.type_info;
  if (!isWhole && !isText) return undefined;
  const same = { type: plain(return_type, undefined), is_null: false, value: plain(value.value, undefined) };
  return { expression_class: "BOUND_CONSTANT", type: "VALUE_CONSTANT", value: same };
}

const upTo = (width: number): number[] => Array.from({ length: width }, (_, index) => index);

class Normalizer {
  readonly #standIns: StandIns;
  readonly #ctes = new Map<number, { readonly name: string; readonly columns: readonly Column[] }>();

  constructor(standIns: StandIns) {
    this.#standIns = standIns;
  }

  node(plan: Plan): Normal {
    const standIn = this.#standIns.get(plan);
    if (standIn !== undefined) return { tree: { table: standIn.table }, columns: upTo(standIn.width) };
    const { type, children = [], expressions = [] } = plan;
    if (type === "LOGICAL_MATERIALIZED_CTE") return this.#cte(plan);
    const below = children.map((child) => this.node(child));
    const [{ tree, columns }, second] = [below[0] ?? { tree: undefined, columns: [] }, below[1]];
    switch (type) {
      case "LOGICAL_GET": {
        const table = tableOf(plan);
        if (table === undefined)
          return {
            tree: { ...rest(plan, [], ["names", "input_table_names"]), below: trees(below) },
            columns: upTo(64),
          };
        // A stand-in's columns are c0, c1 and so on, and each is known by its place.
        return { tree: { table }, columns: scanned(plan) };
      }
      case "LOGICAL_PROJECTION":
        if (expressions.every(isRef))
          return { tree, columns: expressions.map((one) => columns[indexOf(one)]) };
        return { tree: { ...rest(plan, columns), below: tree }, columns: upTo(expressions.length) };
      case "LOGICAL_FILTER": {
        const own = expressions.map((one) => plain(one, columns));
        const inner = tree as { readonly type?: string; readonly filters?: readonly unknown[] };
        return inner?.type === type
          ? { tree: { ...inner, filters: [...(inner.filters ?? []), ...own] }, columns }
          : { tree: { type, filters: own, below: tree }, columns };
      }
      case "LOGICAL_ORDER_BY":
      case "LOGICAL_LIMIT":
        return { tree: { ...rest(plan, columns), below: tree }, columns };
      case "LOGICAL_DISTINCT": {
        const fields = rest(plan, columns);
        if (plan.distinct_type === "DISTINCT") {
          const targets = (fields["distinct_targets"] as readonly unknown[]).map((one) =>
            JSON.stringify(one),
          );
          fields["distinct_targets"] = [...new Set(targets)].sort();
        }
        return { tree: { ...fields, below: tree }, columns };
      }
      case "LOGICAL_AGGREGATE_AND_GROUP_BY": {
        const isOne = (plan.groups ?? []).length === 0 && (plan.grouping_sets ?? []).length <= 1;
        const fields = rest(plan, columns, isOne ? ["grouping_sets"] : []);
        const width =
          (plan.groups ?? []).length + expressions.length + (plan.grouping_functions ?? []).length;
        return { tree: { ...fields, below: tree }, columns: upTo(width) };
      }
      case "LOGICAL_WINDOW":
      case "LOGICAL_UNNEST": {
        const own = expressions.map((one, index) => `w${index}:${JSON.stringify(plain(one, columns))}`);
        return { tree: { ...rest(plan, columns), below: tree }, columns: [...columns, ...own] };
      }
      case "LOGICAL_CROSS_PRODUCT":
      case "LOGICAL_COMPARISON_JOIN":
      case "LOGICAL_ANY_JOIN": {
        const left = columns.map((one) => `l(${one})`);
        const right = (second?.columns ?? []).map((one) => `r(${one})`);
        const fields = rest(plan, undefined, ["conditions", "condition"]);
        if (plan.condition) fields["condition"] = plain(plan.condition, [...left, ...right]);
        fields["conditions"] = (plan.conditions ?? []).map((one) => ({
          left: plain(one.left, columns),
          right: plain(one.right, second?.columns),
          comparison: one.comparison,
        }));
        const isHalf = /SEMI|ANTI/.test(plan.join_type ?? "");
        const more = isHalf ? [] : plan.join_type === "MARK" ? ["mark"] : right;
        return { tree: { ...fields, left: tree, right: second?.tree }, columns: [...left, ...more] };
      }
      case "LOGICAL_CTE_REF": {
        const cte = this.#ctes.get(Number(plan.cte_index ?? 0));
        return { tree: { cte: cte?.name }, columns: upTo(cte?.columns.length ?? 0) };
      }
      default:
        return { tree: { ...rest(plan, undefined), below: trees(below) }, columns: upTo(256) };
    }
  }

  #cte({ table_index, children }: Plan): Normal {
    const [first, second] = children ?? [];
    if (first === undefined || second === undefined) return { tree: undefined, columns: [] };
    const body = this.node(first);
    const name = `cte${this.#ctes.size}`;
    this.#ctes.set(Number(table_index ?? 0), { name, columns: body.columns });
    const main = this.node(second);
    return { tree: { name, body: body.tree, columns: body.columns, main: main.tree }, columns: main.columns };
  }
}

const trees = (all: readonly Normal[]): unknown => all.map(({ tree, columns }) => ({ tree, columns }));

const scanned = ({ column_indexes = [], projection_ids = [] }: Plan): number[] =>
  (projection_ids.length > 0 ? projection_ids.map((at) => column_indexes[Number(at)]) : column_indexes).map(
    (one) => Number(one?.index ?? 0),
  );

function rest(plan: Plan, columns: readonly Column[] | undefined, without: readonly string[] = []): Fields {
  const fields: Fields = {};
  for (const [name, value] of Object.entries(plan))
    if (!withoutMeaning.has(name) && value !== null && name !== "children" && !without.includes(name))
      fields[name] = plain(value, columns);
  return fields;
}
