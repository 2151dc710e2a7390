import { identifier, textLiteral } from "../duck/session.ts";
import { type Expression, indexOf, isRef, notWritten, type Order, type Type, type Value } from "./plan.ts";

/** Writes bound expressions as SQL that binds to the same again, which whoever writes one must check. */

const plainTypes =
  /^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|VARCHAR|BLOB|BIT|UUID|DATE|TIME|TIME WITH TIME ZONE|TIMESTAMP|TIMESTAMP_(S|MS|NS)|TIMESTAMP WITH TIME ZONE|INTERVAL)$/;

export function writeType(type: Type): string {
  const info = type.type_info ?? {};
  if (info.alias === "JSON") return "JSON";
  if (info.alias) return notWritten(`the type ${info.alias}`);
  if (info.collation) return notWritten("a collation");
  const inner = info.child_type;
  const fields = info.child_types ?? [];
  switch (type.id) {
    case "DECIMAL":
      return `DECIMAL(${info.width ?? 0},${info.scale ?? 0})`;
    case "STRUCT":
      if (fields.some(({ first }) => first === "")) return notWritten("a struct without names");
      return `STRUCT(${fields.map(({ first, second }) => `${identifier(first)} ${writeType(second)}`).join(", ")})`;
    case "LIST":
      return `${inner === undefined ? notWritten("a list") : writeType(inner)}[]`;
    case "ARRAY":
      return `${inner === undefined ? notWritten("an array") : writeType(inner)}[${info.size}]`;
    case "MAP": {
      const [key, value] = inner?.type_info?.child_types ?? [];
      if (key === undefined || value === undefined) return notWritten("a map");
      return `MAP(${writeType(key.second)}, ${writeType(value.second)})`;
    }
    case "ENUM":
      return `ENUM(${(info.values ?? []).map(textLiteral).join(", ")})`;
    case "INTEGER_LITERAL":
      return "INTEGER";
    case "NULL":
      return '"NULL"';
    default:
      return plainTypes.test(type.id) ? type.id : notWritten(`the type ${type.id}`);
  }
}

interface Halves {
  readonly upper: number | bigint;
  readonly lower: number | bigint;
}
const joined = (value: unknown): bigint =>
  typeof value === "object" && value !== null
    ? (BigInt((value as Halves).upper) << 64n) + BigInt((value as Halves).lower)
    : BigInt(value as number);

function writeConstant({ is_null, type, value }: Value): string {
  if (is_null) return type.id === "NULL" ? "NULL" : `CAST(NULL AS ${writeType(type)})`;
  const signed = (text: string): string => (text.startsWith("-") ? `(${text})` : text);
  switch (type.id) {
    case "BOOLEAN":
      return value === true ? "true" : "false";
    case "BIGINT": {
      const text = signed(String(value));
      return Math.abs(Number(value)) < 2 ** 31 ? `CAST(${text} AS BIGINT)` : text;
    }
    case "TINYINT":
    case "SMALLINT":
    case "INTEGER":
    case "INTEGER_LITERAL":
      return signed(String(value));
    case "HUGEINT":
      return `(${joined(value)})`;
    case "DOUBLE":
      return writeDouble(value);
    case "DECIMAL": {
      const { width = 0, scale = 0 } = type.type_info ?? {};
      const units = joined(value);
      if (scale === 0) return `(${units}.)`;
      const digits = (units < 0n ? -units : units).toString().padStart(width, "0");
      return `(${units < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)})`;
    }
    case "VARCHAR":
    case "STRING_LITERAL":
      return String(value).includes("\0")
        ? notWritten("a text with the character 0")
        : textLiteral(String(value));
    default:
      return notWritten(`a constant of ${type.id}`);
  }
}

function writeDouble(value: unknown): string {
  if (value === "Infinity") return "1e999";
  if (typeof value === "string") return notWritten(`the constant ${value}`);
  const text = Object.is(value, -0) ? "-0" : String(value);
  return `(${text}${text.includes("e") ? "" : "e0"})`;
}

export const comparisons: Readonly<Record<string, string>> = {
  COMPARE_EQUAL: "=",
  COMPARE_NOTEQUAL: "<>",
  COMPARE_LESSTHAN: "<",
  COMPARE_GREATERTHAN: ">",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_GREATERTHANOREQUALTO: ">=",
  COMPARE_DISTINCT_FROM: "IS DISTINCT FROM",
  COMPARE_NOT_DISTINCT_FROM: "IS NOT DISTINCT FROM",
};

const infix = new Set("+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ & | << >> @> <@ && ^@ ->>".split(" "));

/** What binding puts around intervals that are compared; binding again puts it there again. */
const unwrapped = (one: Expression): Expression =>
  one.name === "normalized_interval" ? (one.children?.[0] ?? one) : one;

/** Whether a call is an error that binding adds: of a scalar subquery with more than one row, or of a macro of DuckDB. */
export const isRowError = ({ name, children }: Expression): boolean =>
  name === "error" && /^(More than one row|json_group_object key)/.test(String(children?.[0]?.value?.value));

/** Writes an expression over columns, each the text that stands for the one of its index. Throws `NotWritten`. */
export function write(one: Expression, columns: readonly (string | undefined)[]): string {
  const part = (inner: Expression | null | undefined): string =>
    inner == null ? notWritten(one.expression_class) : write(inner, columns);
  const parts = (inner: readonly Expression[] | undefined): string[] => (inner ?? []).map(part);
  switch (one.expression_class) {
    case "BOUND_REF":
      return columns[indexOf(one)] ?? notWritten("a virtual column");
    case "BOUND_CONSTANT":
      return one.value === undefined ? notWritten("a constant") : writeConstant(one.value);
    case "BOUND_CAST":
      return `${one.try_cast ? "TRY_" : ""}CAST(${part(one.child)} AS ${writeType(one.return_type ?? { id: "" })})`;
    case "BOUND_COMPARISON":
      return `(${part(one.left)} ${comparisons[one.type] ?? notWritten(one.type)} ${part(one.right)})`;
    case "BOUND_CONJUNCTION":
      return `(${parts(one.children).join(one.type === "CONJUNCTION_AND" ? " AND " : " OR ")})`;
    case "BOUND_BETWEEN":
      if (!one.lower_inclusive || !one.upper_inclusive) return notWritten("an open between");
      return `(${part(one.input)} BETWEEN ${part(one.lower)} AND ${part(one.upper)})`;
    case "BOUND_CASE": {
      const checks = (one.case_checks ?? []).map(
        ({ when_expr, then_expr }) => `WHEN ${part(when_expr)} THEN ${part(then_expr)}`,
      );
      return `CASE ${checks.join(" ")} ELSE ${part(one.else_expr)} END`;
    }
    case "BOUND_OPERATOR":
      return writeOperator(one.type, parts(one.children));
    case "BOUND_FUNCTION":
      return writeFunction(one, columns);
    case "BOUND_AGGREGATE":
      return writeAggregate(one, columns);
    case "BOUND_UNNEST":
      return `unnest(${part(one.child)})`;
    case "BOUND_WINDOW":
      return writeWindow(one, columns);
    default:
      return notWritten(`an expression ${one.expression_class}`);
  }
}

function writeOperator(type: string, [first = "", ...more]: readonly string[]): string {
  const all = [first, ...more].join(", ");
  const forms: Readonly<Record<string, string>> = {
    COMPARE_IN: `(${first} IN (${more.join(", ")}))`,
    COMPARE_NOT_IN: `(${first} NOT IN (${more.join(", ")}))`,
    OPERATOR_NOT: `(NOT ${first})`,
    OPERATOR_IS_NULL: `(${first} IS NULL)`,
    OPERATOR_IS_NOT_NULL: `(${first} IS NOT NULL)`,
    OPERATOR_COALESCE: `COALESCE(${all})`,
    OPERATOR_NULLIF: `NULLIF(${all})`,
    OPERATOR_TRY: `TRY(${first})`,
  };
  return forms[type] ?? notWritten(`an operator ${type}`);
}

/** Functions that read names, settings or clocks of the place where they run. */
const ofThePlace = new Set([
  ...["alias", "current_localtime", "current_localtimestamp", "current_setting", "getvariable", "row"],
]);

function functionName({ schema_name, name = "" }: Expression): string {
  if (schema_name && schema_name !== "main") return notWritten(`the schema ${schema_name}`);
  if (ofThePlace.has(name)) return notWritten(`${name}()`);
  return /^[a-z_]\w*$/.test(name) ? name : identifier(name);
}

function writeFunction(one: Expression, columns: readonly (string | undefined)[]): string {
  const { name = "", children = [], function_data: data, return_type: result } = one;
  const part = (inner: Expression): string => write(inner, columns);
  if (name === "normalized_interval") return part(unwrapped(one));
  if (data?.lambda_expr) {
    const [list, ...captured] = children.map(part);
    if (data.has_initial) return notWritten(`${name} with a first value`);
    const size = (/reduce$/.test(name) ? 2 : 1) + (data.has_index ? 1 : 0);
    let depth = 0;
    while (columns.includes(`p${depth}_0`)) depth += 1;
    const names = Array.from({ length: size }, (_, index) => `p${depth}_${index}`);
    const body = write(data.lambda_expr, [...names.toReversed(), ...captured]);
    return `${functionName(one)}(${list}, lambda ${names.join(", ")}: ${body})`;
  }
  const texts = children.map(part);
  if (name === "struct_pack" || name === "struct_insert") {
    const kept = name === "struct_insert" ? 1 : 0;
    const fields = (result?.type_info?.child_types ?? []).slice(-(texts.length - kept));
    const named = texts
      .slice(kept)
      .map((text, index) => `${identifier(fields[index]?.first ?? "")} := ${text}`);
    return `${name}(${[...texts.slice(0, kept), ...named].join(", ")})`;
  }
  if (/^[-+*]$/.test(name) && result?.id === "DECIMAL" && bindsOtherwise(one))
    for (const [index, child] of children.entries())
      if (child.expression_class === "BOUND_CAST" && !child.try_cast && child.child !== undefined)
        texts[index] = part(child.child);
  if (texts.length === 2 && infix.has(name)) return `(${texts[0]} ${name} ${texts[1]})`;
  if (texts.length === 1 && (name === "-" || name === "~")) return `(${name} ${texts[0]})`;
  return `${functionName(one)}(${texts.join(", ")})`;
}

/** Whether `+`, `-` or `*` of decimals gives another type where its operands are cast already: binding adds casts of its own. */
function bindsOtherwise({ name, children = [], return_type: result }: Expression): boolean {
  const sizes = children.map(({ return_type, value }) => {
    const type = return_type ?? value?.type;
    return type?.id === "DECIMAL"
      ? ([type.type_info?.width ?? 0, type.type_info?.scale ?? 0] as const)
      : undefined;
  });
  const [a, b] = sizes;
  if (a === undefined || b === undefined) return false;
  const scale = name === "*" ? a[1] + b[1] : Math.max(a[1], b[1]);
  const width = name === "*" ? a[0] + b[0] : Math.max(a[0] - a[1], b[0] - b[1]) + scale + 1;
  // Of two that fit 64 bits the result does too, and is checked for overflow instead.
  const fits = width > 18 && a[0] <= 18 && b[0] <= 18 && scale < 18 ? 18 : Math.min(width, 38);
  return fits !== (result?.type_info?.width ?? 0) || scale !== (result?.type_info?.scale ?? 0);
}

export function writeOrder(
  orders: readonly Order[],
  columns: readonly (string | undefined)[],
  byPosition = false,
): string {
  const keys = orders.map(({ expression, type, null_order }) => {
    const key = unwrapped(expression);
    const isPlace = byPosition && isRef(key) && columns.every((one) => one !== undefined);
    const text = isPlace ? String(indexOf(key) + 1) : write(key, columns);
    return `${text} ${type === "DESCENDING" ? "DESC" : "ASC"} ${null_order}`;
  });
  return keys.join(", ");
}

/** The arguments of an aggregate as SQL, with those that binding has moved into its own data. */
export function writeArguments(one: Expression, columns: readonly (string | undefined)[]) {
  const { name = "", function_data: data, children = [], return_type } = one;
  const texts = children.map((inner) => write(inner, columns));
  let order = "";
  if (data == null || /^(median|mad)$/.test(name)) return { texts, order };
  if (/^(quantile|approx_quantile)/.test(name)) {
    const shares = (data.quantiles ?? []).map((one) =>
      typeof one === "object" ? writeConstant(one) : String(one),
    );
    if (data.desc) {
      if (shares.some((share) => share.startsWith("(-"))) return notWritten("a quantile below zero");
      order = ` ORDER BY ${texts[0]} DESC`;
    }
    texts.push(
      shares.length > 1 || return_type?.id === "LIST" ? `[${shares.join(", ")}]` : (shares[0] ?? ""),
    );
  } else if (name === "string_agg") texts.push(textLiteral(data.separator ?? ""));
  else if (!plainData.test(name)) return notWritten(`the data of ${name}`);
  return { texts, order };
}

/** Aggregates whose own data follow from their arguments. */
const plainData =
  /^(sum|avg|min|max|first|last|any_value|count|list|arg_min|arg_max|mode|histogram|bool_and|bool_or)/;

export const filterText = (one: Expression, columns: readonly (string | undefined)[]): string =>
  one.filter == null ? "" : ` FILTER (WHERE ${write(one.filter, columns)})`;

function writeAggregate(one: Expression, columns: readonly (string | undefined)[]): string {
  if (one.name === "count_star") return `count(*)${filterText(one, columns)}`;
  const { texts, order } = writeArguments(one, columns);
  const orders = one.order_bys?.orders ?? [];
  const by = orders.length > 0 ? ` ORDER BY ${writeOrder(orders, columns)}` : order;
  const distinct = one.aggregate_type === "DISTINCT" ? "DISTINCT " : "";
  return `${functionName(one)}(${distinct}${texts.join(", ")}${by})${filterText(one, columns)}`;
}

const windows: Readonly<Record<string, string>> = {
  WINDOW_ROW_NUMBER: "row_number",
  WINDOW_RANK: "rank",
  WINDOW_RANK_DENSE: "dense_rank",
  WINDOW_PERCENT_RANK: "percent_rank",
  WINDOW_CUME_DIST: "cume_dist",
  WINDOW_NTILE: "ntile",
  WINDOW_LEAD: "lead",
  WINDOW_LAG: "lag",
  WINDOW_FIRST_VALUE: "first_value",
  WINDOW_LAST_VALUE: "last_value",
  WINDOW_NTH_VALUE: "nth_value",
};

const bounds: Readonly<Record<string, string>> = {
  UNBOUNDED_PRECEDING: "UNBOUNDED PRECEDING",
  UNBOUNDED_FOLLOWING: "UNBOUNDED FOLLOWING",
  CURRENT_ROW: "CURRENT ROW",
  EXPR_PRECEDING: "PRECEDING",
  EXPR_FOLLOWING: "FOLLOWING",
};

function writeWindow(one: Expression, columns: readonly (string | undefined)[]): string {
  const part = (inner: Expression): string => write(inner, columns);
  const name = one.type === "WINDOW_AGGREGATE" ? one.name : windows[one.type];
  if (name === undefined) return notWritten(`a window ${one.type}`);
  if (one.exclude_clause !== "NO_OTHER" || (one.arg_orders ?? []).length > 0)
    return notWritten("a window clause");
  if (one.function_data && !/^(sum|avg|min|max)$/.test(name)) return notWritten(`the data of ${name}`);
  const args = (one.children ?? []).map(part);
  for (const more of [one.offset_expr, one.default_expr]) if (more != null) args.push(part(more));
  const over: string[] = [];
  const { partitions = [], orders = [], start = "", end = "" } = one;
  if (partitions.length > 0) over.push(`PARTITION BY ${partitions.map(part).join(", ")}`);
  if (orders.length > 0) over.push(`ORDER BY ${writeOrder(orders, columns)}`);
  const unit = /_(ROWS|RANGE|GROUPS)$/;
  const bound = (side: string, by: Expression | null | undefined): string => {
    const text = bounds[side.replace(unit, "")] ?? notWritten(`a window ${side}`);
    return by == null ? text : `${part(by)} ${text}`;
  };
  const kind = unit.exec(end)?.[1] ?? unit.exec(start)?.[1] ?? "RANGE";
  over.push(`${kind} BETWEEN ${bound(start, one.start_expr)} AND ${bound(end, one.end_expr)}`);
  const inner = `${one.distinct ? "DISTINCT " : ""}${args.join(", ")}${one.ignore_nulls ? " IGNORE NULLS" : ""}`;
  const call = name === "count_star" ? "count(*)" : `${name}(${inner})`;
  const filter = one.filter_expr == null ? "" : ` FILTER (WHERE ${part(one.filter_expr)})`;
  return `${call}${filter} OVER (${over.join(" ")})`;
}
