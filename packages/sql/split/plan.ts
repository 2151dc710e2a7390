import type { Session } from "../duck/session.ts";
import { textLiteral } from "../duck/session.ts";

/**
 * Bound plans of queries, as DuckDB's `json_serialize_plan` gives them: columns are indexes, macros and stars are
 * expanded, casts are written out. They are not optimized. Fields that are 0 may be absent.
 */

type Whole = number | bigint;

export interface Type {
  readonly id: string;
  readonly type_info?: {
    readonly alias?: string;
    readonly collation?: string;
    readonly width?: number;
    readonly scale?: number;
    readonly size?: Whole;
    readonly child_type?: Type;
    readonly child_types?: readonly { readonly first: string; readonly second: Type }[];
    readonly values?: readonly string[];
  } | null;
}

export interface Value {
  readonly type: Type;
  readonly is_null: boolean;
  readonly value?: unknown;
}

export interface Order {
  readonly type: string;
  readonly null_order: string;
  readonly expression: Expression;
}

export interface Expression {
  readonly expression_class: string;
  readonly type: string;
  readonly name?: string;
  readonly schema_name?: string;
  readonly return_type?: Type;
  readonly index?: Whole;
  readonly value?: Value;
  readonly child?: Expression;
  readonly children?: readonly Expression[];
  readonly left?: Expression;
  readonly right?: Expression;
  readonly input?: Expression;
  readonly lower?: Expression;
  readonly upper?: Expression;
  readonly lower_inclusive?: boolean;
  readonly upper_inclusive?: boolean;
  readonly try_cast?: boolean;
  readonly case_checks?: readonly { readonly when_expr: Expression; readonly then_expr: Expression }[];
  readonly else_expr?: Expression;
  readonly arguments?: readonly Type[];
  readonly aggregate_type?: string;
  readonly filter?: Expression | null;
  readonly order_bys?: { readonly orders?: readonly Order[] } | null;
  readonly function_data?: {
    readonly lambda_expr?: Expression;
    readonly has_index?: boolean;
    readonly has_initial?: boolean;
    readonly quantiles?: readonly (Value | number)[];
    readonly desc?: boolean;
    readonly separator?: string;
  } | null;
  readonly binding?: { readonly column_index?: Whole };
  // Of window functions.
  readonly partitions?: readonly Expression[];
  readonly orders?: readonly Order[];
  readonly arg_orders?: readonly Order[];
  readonly start?: string;
  readonly end?: string;
  readonly start_expr?: Expression | null;
  readonly end_expr?: Expression | null;
  readonly offset_expr?: Expression | null;
  readonly default_expr?: Expression | null;
  readonly filter_expr?: Expression | null;
  readonly exclude_clause?: string;
  readonly ignore_nulls?: boolean;
  readonly distinct?: boolean;
}

export interface Limit {
  readonly type: string;
  readonly constant_integer?: Whole;
}

export interface Plan {
  readonly type: string;
  readonly children?: readonly Plan[];
  readonly expressions?: readonly Expression[];
  readonly name?: string;
  readonly names?: readonly string[];
  readonly function_data?: { readonly table?: string; readonly schema?: string } | null;
  readonly column_indexes?: readonly { readonly index: Whole; readonly child_indexes?: readonly unknown[] }[];
  readonly projection_ids?: readonly Whole[];
  readonly projection_map?: readonly unknown[];
  readonly left_projection_map?: readonly unknown[];
  readonly right_projection_map?: readonly unknown[];
  readonly groups?: readonly Expression[];
  readonly grouping_sets?: readonly (readonly Whole[])[];
  readonly grouping_functions?: readonly (readonly Whole[])[];
  readonly distinct_type?: string;
  readonly distinct_targets?: readonly Expression[];
  readonly order_by?: { readonly orders?: readonly Order[] } | null;
  readonly orders?: readonly Order[];
  readonly limit_val?: Limit;
  readonly offset_val?: Limit;
  readonly join_type?: string;
  readonly conditions?: readonly {
    readonly left: Expression;
    readonly right: Expression;
    readonly comparison: string;
  }[];
  readonly condition?: Expression | null;
  readonly predicate?: Expression | null;
  readonly duplicate_eliminated_columns?: readonly Expression[];
  readonly setop_all?: boolean;
  readonly table_index?: Whole;
  readonly cte_index?: Whole;
  readonly chunk_types?: readonly Type[];
}

/** Why a plan cannot be written as SQL: its query is then computed over gathered rows. */
export class NotWritten extends Error {}

export function notWritten(why: string): never {
  throw new NotWritten(why);
}

/** The plan of a query over the tables of a session. Throws `NotWritten` with DuckDB's words. */
export async function planOf(query: string, session: Session): Promise<Plan> {
  const [row] = await session.rows(`select json_serialize_plan(${textLiteral(query)}) as plan`);
  const { error, error_message: message, plans } = parsePlan(String(row?.["plan"]));
  if (error === true) return notWritten(String(message));
  const [plan, ...more] = plans as readonly Plan[];
  return plan === undefined || more.length > 0 ? notWritten("it is not one statement") : withoutCtes(plan);
}

/** Whole numbers beyond 2^53 are bigints, and the bare words that DuckDB writes for doubles are texts. */
function parsePlan(json: string): Readonly<Record<string, unknown>> {
  const strict = json.replace(/"(?:[^"\\]|\\.)*"|-?(?:Infinity|NaN)/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  return JSON.parse(strict, (_name, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && /^-?\d{16,}$/.test(context?.source ?? "")
      ? BigInt(context?.source ?? 0)
      : value,
  );
}

/** Common table expressions that are read once, or that only choose and change rows, stand where they are read. */
function withoutCtes(plan: Plan, bodies: ReadonlyMap<number, Plan> = new Map()): Plan {
  const [first, second] = plan.children ?? [];
  if (plan.type === "LOGICAL_MATERIALIZED_CTE" && first !== undefined && second !== undefined) {
    const key = Number(plan.table_index ?? 0);
    const body = withoutCtes(first, bodies);
    if (timesRead(second, key) > 1 && !isRowWise(body))
      return { ...plan, children: [body, withoutCtes(second, bodies)] };
    return withoutCtes(second, new Map([...bodies, [key, body]]));
  }
  if (plan.type === "LOGICAL_CTE_REF") {
    const body = bodies.get(Number(plan.cte_index ?? 0));
    // Nodes are told apart by identity.
    return body === undefined ? plan : structuredClone(body);
  }
  return plan.children === undefined
    ? plan
    : { ...plan, children: plan.children.map((child) => withoutCtes(child, bodies)) };
}

const timesRead = (plan: Plan, cte: number): number =>
  (plan.type === "LOGICAL_CTE_REF" && Number(plan.cte_index ?? 0) === cte ? 1 : 0) +
  (plan.children ?? []).reduce((sum, child) => sum + timesRead(child, cte), 0);

const isRowWise = ({ type, children = [] }: Plan): boolean =>
  /^LOGICAL_(GET|FILTER|PROJECTION|CROSS_PRODUCT|COMPARISON_JOIN|ANY_JOIN|EXPRESSION_GET|DUMMY_SCAN)$/.test(
    type,
  ) && children.every(isRowWise);

/** The table that a node scans, in lower case. */
export const tableOf = ({ type, function_data }: Plan): string | undefined =>
  type === "LOGICAL_GET" ? function_data?.table : undefined;

/** Whether rows of data are read. A common table expression that is not where it is read may read them. */
export const readsData = (plan: Plan): boolean =>
  tableOf(plan) === "data" || plan.type === "LOGICAL_CTE_REF" || (plan.children ?? []).some(readsData);

/** Whether rows of data are read at all. */
export const scansData = (plan: Plan): boolean =>
  tableOf(plan) === "data" || (plan.children ?? []).some(scansData);

export const isRef = ({ expression_class }: Expression): boolean => expression_class === "BOUND_REF";
export const indexOf = ({ index = 0 }: Expression): number => Number(index);

/** Virtual columns, such as `rowid`, have indexes from here on. */
const virtualFrom = 1e6;

/** The names of the columns that a scan gives, in order; undefined for virtual ones. */
export function scannedColumns({ column_indexes = [], projection_ids = [], names = [] }: Plan) {
  const all =
    projection_ids.length > 0 ? projection_ids.map((at) => column_indexes[Number(at)]) : column_indexes;
  return all.map((one) => {
    if (one === undefined || Number(one.index) >= virtualFrom) return undefined;
    if ((one.child_indexes ?? []).length > 0) return notWritten("part of a column is scanned");
    return names[Number(one.index)];
  });
}

/** The expressions of a value, from the root down; `into` says which fields to look within. */
export function* expressionsIn(value: unknown): Generator<Expression> {
  if (Array.isArray(value)) for (const one of value) yield* expressionsIn(one);
  else if (typeof value === "object" && value !== null) {
    if ("expression_class" in value) yield value as Expression;
    for (const [name, one] of Object.entries(value)) if (name !== "type") yield* expressionsIn(one);
  }
}

/** The indexes of a node's input that a value refers to. A lambda's own are not among them. */
export function refsIn(value: unknown, found: Set<number> = new Set()): Set<number> {
  if (Array.isArray(value)) for (const one of value) refsIn(one, found);
  else if (typeof value === "object" && value !== null) {
    if ("expression_class" in value && value.expression_class === "BOUND_REF")
      found.add(indexOf(value as Expression));
    else for (const [name, one] of Object.entries(value)) if (name !== "lambda_expr") refsIn(one, found);
  }
  return found;
}

const hasStruct = ({ id, type_info: info }: Type): boolean =>
  id === "STRUCT" ||
  (id === "LIST" && info?.child_type !== undefined && hasStruct(info.child_type)) ||
  // What a map holds are structs of a key and a value.
  (id === "MAP" && JSON.stringify(info).split('"STRUCT"').length > 2);

/** The fields of structs that a plan reads, in lower case; nothing where it takes a whole struct. */
export function fieldsIn(plan: Plan): string[] | undefined {
  if (takesStructs(plan)) return undefined;
  const all = [...expressionsIn(plan)];
  if (all.some(({ name }) => name === "struct_extract_at")) return undefined;
  const names = all
    .filter(({ name = "" }) => /^(struct|array)_extract$/.test(name))
    .map(({ children = [] }) => children[1]?.value?.value);
  return [...new Set(names.filter((name) => typeof name === "string").map((name) => name.toLowerCase()))];
}

/** Whether a value is made of a whole struct, or of a list of them, and not of a field: then all of its keys count. */
function takesStructs(value: unknown, isExtracted = false): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (!("expression_class" in value)) return Object.values(value).some((one) => takesStructs(one));
  const {
    name = "",
    type: kind,
    return_type: type,
    children = [],
    aggregate_type: how,
  } = value as Expression;
  const isCount = /^(count|len|array_length)$/.test(name) && how !== "DISTINCT";
  if (isCount || /IS_(NOT_)?NULL$/.test(kind)) return children.some((one) => takesStructs(one, true));
  const isField = name === "struct_extract" || name === "struct_extract_at";
  const isPart = isField || name === "array_extract";
  if (!isExtracted && (isPart || isRef(value as Expression)) && type !== undefined && hasStruct(type))
    return true;
  if (!isPart) return Object.entries(value).some(([key, one]) => !/type/.test(key) && takesStructs(one));
  return takesStructs(children[0], isField || isExtracted) || takesStructs(children.slice(1));
}
