import { identifier } from "../duck/session.ts";
import {
  type Expression,
  indexOf,
  isRef,
  type Limit,
  notWritten,
  type Plan,
  scannedColumns,
  tableOf,
} from "./plan.ts";
import { comparisons, isRowError, write, writeOrder } from "./writeExpression.ts";

/**
 * Writes a bound plan as SQL. It promises nothing by itself: the text is bound again, and used only where its plan is the
 * same (`samePlan.ts`).
 */

/** A node as the parts of a SELECT, and the text of each column that it gives; undefined for virtual ones. */
export interface Written {
  readonly from: string;
  readonly where: readonly string[];
  readonly columns: readonly (string | undefined)[];
  /** A join, which another join must not follow directly. */
  readonly isOpen?: boolean;
}

/** Tables that stand for nodes, by node. */
export type StandIns = ReadonlyMap<Plan, { readonly table: string; readonly width: number }>;

const joins = ["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"];

export const selectText = (
  { from, where }: Pick<Written, "from" | "where">,
  list: readonly string[],
  more = "",
) =>
  `SELECT ${list.length > 0 ? list.join(", ") : "NULL"}${from === "" ? "" : ` FROM ${from}`}` +
  `${where.length > 0 ? ` WHERE ${where.join(" AND ")}` : ""}${more}`;

const named = (columns: readonly (string | undefined)[]): string[] =>
  columns.flatMap((text, index) => (text === undefined ? [] : `${text} AS c${index}`));

/** The whole query of a plan, with the names of its columns. Throws `NotWritten`. */
export function writeQuery(plan: Plan, names: readonly string[], standIns: StandIns = new Map()): string {
  const written = new PlanWriter(standIns).node(plan);
  return selectText(
    written,
    names.map(
      (name, index) => `${written.columns[index] ?? notWritten("a virtual column")} AS ${identifier(name)}`,
    ),
  );
}

export class PlanWriter {
  readonly #standIns: StandIns;
  readonly #ctes = new Map<number, { readonly name: string; readonly width: number }>();
  #tables = 0;

  constructor(standIns: StandIns = new Map()) {
    this.#standIns = standIns;
  }

  node(plan: Plan): Written {
    const standIn = this.#standIns.get(plan);
    if (standIn !== undefined) {
      const t = this.#alias();
      return {
        from: `${standIn.table} AS ${t}`,
        where: [],
        columns: Array.from({ length: standIn.width }, (_, index) => `${t}.c${index}`),
      };
    }
    const { type, expressions = [] } = plan;
    switch (type) {
      case "LOGICAL_GET":
        return this.#scan(plan);
      case "LOGICAL_DUMMY_SCAN":
        return { from: "", where: [], columns: [undefined] };
      case "LOGICAL_FILTER": {
        const below = this.#child(plan);
        if ((plan.projection_map ?? []).length > 0) return notWritten("a filter's map");
        return { ...below, where: [...below.where, ...expressions.map((one) => write(one, below.columns))] };
      }
      case "LOGICAL_PROJECTION": {
        const below = this.#child(plan);
        const columns = expressions.map((one) =>
          isRef(one) ? below.columns[indexOf(one)] : write(one, below.columns),
        );
        return expressions.every(isRef) ? { ...below, columns } : this.#closed(below, columns);
      }
      case "LOGICAL_AGGREGATE_AND_GROUP_BY": {
        const below = this.#child(plan);
        const keys = (plan.groups ?? []).map((one) => write(one, below.columns));
        const answers = expressions.map((one) => write(one, below.columns));
        return this.#closed(below, [...keys, ...answers, ...groupings(plan, keys)], groupBy(plan));
      }
      case "LOGICAL_WINDOW":
      case "LOGICAL_UNNEST": {
        const below = this.#child(plan);
        return this.#closed(below, [
          ...below.columns,
          ...expressions.map((one) => write(one, below.columns)),
        ]);
      }
      case "LOGICAL_DISTINCT":
        return this.#distinct(plan);
      case "LOGICAL_ORDER_BY":
        return this.#ordered(plan);
      case "LOGICAL_LIMIT":
        return this.#limited(plan);
      case "LOGICAL_CROSS_PRODUCT":
        return this.#crossed(plan);
      case "LOGICAL_COMPARISON_JOIN":
        return this.#joined(plan);
      case "LOGICAL_ANY_JOIN": {
        const [a, b] = this.#sides(plan);
        if (!joins.includes(plan.join_type ?? "") || plan.condition == null)
          return notWritten(`a join ${plan.join_type}`);
        return this.#join(plan, a, b, write(plan.condition, [...a.columns, ...b.columns]));
      }
      case "LOGICAL_DELIM_JOIN":
        return this.#unnested(plan);
      case "LOGICAL_UNION":
      case "LOGICAL_EXCEPT":
      case "LOGICAL_INTERSECT": {
        const all = (plan.children ?? []).map((child) => this.node(child));
        const word = `${type.slice("LOGICAL_".length)}${plan.setop_all ? " ALL" : ""}`;
        const texts = all.map((one) => `(${selectText(one, named(one.columns))})`);
        return this.#derived(texts.join(` ${word} `), all[0]?.columns.length ?? 0);
      }
      case "LOGICAL_MATERIALIZED_CTE": {
        const [body, main] = plan.children ?? [];
        if (body === undefined || main === undefined) return notWritten("a common table expression");
        const name = `cte_${this.#alias()}`;
        const inner = this.node(body);
        this.#ctes.set(Number(plan.table_index ?? 0), { name, width: inner.columns.length });
        const outer = this.node(main);
        const text = `WITH ${name} AS (${selectText(inner, named(inner.columns))}) ${selectText(outer, named(outer.columns))}`;
        return this.#derived(text, outer.columns.length);
      }
      case "LOGICAL_CTE_REF": {
        const { name, width } =
          this.#ctes.get(Number(plan.cte_index ?? 0)) ?? notWritten("a common table expression");
        const t = this.#alias();
        const columns = Array.from({ length: width }, (_, index) => `${t}.c${index}`);
        return { from: `${name} AS ${t}`, where: [], columns };
      }
      case "LOGICAL_EXPRESSION_GET": {
        const rows = (plan.expressions ?? []) as unknown as readonly (readonly Expression[])[];
        if (plan.children?.[0]?.type !== "LOGICAL_DUMMY_SCAN") return notWritten("values");
        const texts = rows.map((row) => `(${row.map((one) => write(one, [])).join(", ")})`);
        const t = this.#alias();
        const names = (rows[0] ?? []).map((_, index) => `c${index}`);
        const from = `(VALUES ${texts.join(", ")}) AS ${t}(${names.join(", ")})`;
        return { from, where: [], columns: names.map((name) => `${t}.${name}`) };
      }
      default:
        return notWritten(type.replace("LOGICAL_", "").toLowerCase().replaceAll("_", " "));
    }
  }

  #alias(): string {
    this.#tables += 1;
    return `t${this.#tables}`;
  }

  #child({ type, children }: Plan): Written {
    const [child] = children ?? [];
    return child === undefined ? notWritten(type) : this.node(child);
  }

  #derived(text: string, width: number): Written {
    const t = this.#alias();
    const columns = Array.from({ length: width }, (_, index) => `${t}.c${index}`);
    return { from: `(${text}) AS ${t}`, where: [], columns };
  }

  /** A subquery with these columns. */
  #closed(
    below: Pick<Written, "from" | "where">,
    columns: readonly (string | undefined)[],
    more = "",
  ): Written {
    const t = this.#alias();
    return {
      from: `(${selectText(below, named(columns), more)}) AS ${t}`,
      where: [],
      columns: columns.map((text, index) => (text === undefined ? undefined : `${t}.c${index}`)),
    };
  }

  #side(plan: Plan): Written {
    const written = this.node(plan);
    return written.where.length > 0 || written.isOpen ? this.#closed(written, written.columns) : written;
  }

  #sides({ type, children }: Plan): [Written, Written] {
    const [a, b] = children ?? [];
    return a === undefined || b === undefined ? notWritten(type) : [this.#side(a), this.#side(b)];
  }

  #scan(plan: Plan): Written {
    const table = tableOf(plan);
    if (table === undefined || plan.function_data?.schema !== "main")
      return notWritten(`${plan.name ?? "a function"}() in FROM`);
    const t = this.#alias();
    const columns = scannedColumns(plan).map((name) =>
      name === undefined ? undefined : `${t}.${identifier(name)}`,
    );
    return { from: `${identifier(table)} AS ${t}`, where: [], columns };
  }

  #distinct(plan: Plan): Written {
    const [child] = plan.children ?? [];
    const below = this.#child(plan);
    const targets = plan.distinct_targets ?? [];
    if (plan.distinct_type === "DISTINCT") {
      // A set operation without `all` is distinct by itself.
      if (/UNION|EXCEPT|INTERSECT/.test(child?.type ?? "") && !child?.setop_all) return below;
      if (targets.length !== below.columns.length || !targets.every(isRef)) return notWritten("distinct");
      return this.#derived(
        selectText(below, named(below.columns)).replace("SELECT", "SELECT DISTINCT"),
        targets.length,
      );
    }
    const on = targets.map((one) => write(one, below.columns)).join(", ");
    const orders = plan.order_by?.orders ?? [];
    const by = orders.length > 0 ? ` ORDER BY ${writeOrder(orders, below.columns)}` : "";
    const text = selectText(below, named(below.columns), by).replace("SELECT", `SELECT DISTINCT ON (${on})`);
    return this.#derived(text, below.columns.length);
  }

  #ordered(plan: Plan): Written {
    const [child] = plan.children ?? [];
    if ((plan.projection_map ?? []).length > 0) return notWritten("an order's map");
    const below = this.#child(plan);
    // Binding puts the order of DISTINCT ON above it once more.
    if (child !== undefined && child.distinct_type === "DISTINCT_ON" && !this.#standIns.has(child))
      if (sameOrders(child.order_by?.orders ?? [], plan.orders ?? [])) return below;
    return this.#closed(
      below,
      below.columns,
      ` ORDER BY ${writeOrder(plan.orders ?? [], below.columns, true)}`,
    );
  }

  #limited(plan: Plan): Written {
    const [child] = plan.children ?? [];
    const [limit, offset] = [plan.limit_val, plan.offset_val].map(limitText);
    const more = `${limit === undefined ? "" : ` LIMIT ${limit}`}${offset === undefined ? "" : ` OFFSET ${offset}`}`;
    // Order and limit in one SELECT keep only the first rows while they sort.
    if (
      child?.type === "LOGICAL_ORDER_BY" &&
      !this.#standIns.has(child) &&
      child.children?.[0] !== undefined
    ) {
      const below = this.node(child.children[0]);
      const order = writeOrder(child.orders ?? [], below.columns, true);
      return this.#closed(below, below.columns, ` ORDER BY ${order}${more}`);
    }
    const below = this.#child(plan);
    return this.#closed(below, below.columns, more);
  }

  /** Scalar subqueries are crossed in one after the other. */
  #crossed(plan: Plan): Written {
    const scalars: Plan[] = [];
    let base: Plan | undefined = plan;
    while (base?.type === "LOGICAL_CROSS_PRODUCT") {
      const scalar = scalarOf(base.children?.[1], this.#standIns);
      if (scalar === undefined) break;
      scalars.unshift(scalar);
      base = base.children?.[0];
    }
    if (scalars.length === 0) {
      const [a, b] = this.#sides(plan);
      return {
        from: `${a.from} CROSS JOIN ${b.from}`,
        where: [],
        columns: [...a.columns, ...b.columns],
        isOpen: true,
      };
    }
    const first = scalarOf(base, this.#standIns);
    const below: Written =
      first === undefined && base !== undefined ? this.#side(base) : { from: "", where: [], columns: [] };
    const texts = (first === undefined ? scalars : [first, ...scalars]).map((one) => {
      const inner = this.node(one);
      return inner.columns.length === 1
        ? `(${selectText(inner, named(inner.columns))})`
        : notWritten("a subquery");
    });
    return this.#closed(below, [...below.columns, ...texts]);
  }

  #joined(plan: Plan): Written {
    const [a, b] = this.#sides(plan);
    const { conditions = [], join_type: kind = "" } = plan;
    const maps = [plan.left_projection_map, plan.right_projection_map, plan.duplicate_eliminated_columns];
    if (plan.predicate || maps.some((map) => (map ?? []).length > 0)) return notWritten("a join's map");
    const texts = conditions.map(({ left, right, comparison }) => {
      const operator = comparisons[comparison] ?? notWritten(comparison);
      return `${write(left, a.columns)} ${operator} ${write(right, b.columns)}`;
    });
    if (joins.includes(kind)) return this.#join(plan, a, b, `(${texts.join(" AND ")})`);
    const [one, ...more] = conditions;
    if (kind !== "MARK" || one === undefined || more.length > 0 || one.comparison !== "COMPARE_EQUAL")
      return notWritten(`a join ${kind.toLowerCase()}`);
    // Binding IN casts the subquery's column itself.
    const inner =
      one.right.expression_class === "BOUND_CAST" && one.right.child ? one.right.child : one.right;
    const mark = `(${write(one.left, a.columns)} IN (SELECT ${write(inner, b.columns)} FROM ${b.from}))`;
    return this.#closed(a, [...a.columns, mark]);
  }

  #join({ join_type: kind = "" }: Plan, a: Written, b: Written, on: string): Written {
    const columns = /SEMI|ANTI/.test(kind) ? a.columns : [...a.columns, ...b.columns];
    return this.#closed({ from: `${a.from} ${kind} JOIN ${b.from} ON ${on}`, where: [] }, columns);
  }

  /** `from x, unnest(x.list)`, which binding makes a join of numbered rows with the lists' elements. */
  #unnested(plan: Plan): Written {
    const { rows, list } = unnestOf(plan) ?? notWritten("a lateral join");
    const below = this.#side(rows);
    const t = this.#alias();
    const from = `${below.from}, unnest(${write(list, below.columns)}) AS ${t}(u)`;
    const { columns, ...rest } = this.#closed({ from, where: [] }, [...below.columns, `${t}.u`]);
    return { ...rest, columns: [...columns.slice(0, -1), undefined, columns.at(-1)] };
  }
}

/** The rows and the list of `from x, unnest(x.list)`; undefined for another lateral join. */
export function unnestOf(plan: Plan): { readonly rows: Plan; readonly list: Expression } | undefined {
  const [numbered, elements] = plan.children ?? [];
  const under = elements?.children?.[0];
  const [ref] = under?.expressions ?? [];
  const rows = numbered?.children?.[0];
  const list = plan.duplicate_eliminated_columns?.[Number(ref?.binding?.column_index ?? 0)];
  const isUnnest =
    plan.join_type === "INNER" &&
    numbered?.type === "LOGICAL_WINDOW" &&
    elements?.type === "LOGICAL_GET" &&
    elements.name === "unnest" &&
    under?.type === "LOGICAL_PROJECTION" &&
    under.children?.[0]?.type === "LOGICAL_DELIM_GET" &&
    ref?.expression_class === "BOUND_COLUMN_REF" &&
    Number(elements.column_indexes?.[0]?.index ?? 0) === 0;
  return isUnnest && rows !== undefined && list !== undefined && isRef(list) ? { rows, list } : undefined;
}

const limitText = (limit: Limit | undefined): string | undefined => {
  if (limit === undefined || limit.type === "UNSET") return undefined;
  return limit.type === "CONSTANT_VALUE"
    ? String(limit.constant_integer ?? 0)
    : notWritten("a computed limit");
};

const sameOrders = (a: readonly unknown[], b: readonly unknown[]): boolean => {
  const text = (value: unknown): string =>
    JSON.stringify(value, (name, one) =>
      name === "query_location" || name === "alias" ? undefined : typeof one === "bigint" ? `${one}n` : one,
    );
  return text(a) === text(b);
};

/** What binding puts around a scalar subquery: its first row, and an error for a second one. */
function scalarOf(plan: Plan | undefined, standIns: StandIns): Plan | undefined {
  const [first] = plan?.children ?? [];
  const [only, ...more] = plan?.expressions ?? [];
  if (plan === undefined || standIns.has(plan) || plan.type !== "LOGICAL_PROJECTION" || more.length > 0)
    return undefined;
  const error = only?.case_checks?.[0]?.then_expr;
  const guards = (error?.expression_class === "BOUND_CAST" ? error.child : error) ?? only;
  if (only?.expression_class !== "BOUND_CASE" || guards === undefined || !isRowError(guards))
    return undefined;
  const [one, count] = first?.expressions ?? [];
  const isFirst = first?.type === "LOGICAL_AGGREGATE_AND_GROUP_BY" && first.expressions?.length === 2;
  return isFirst && !standIns.has(first) && one?.name === "first" && count?.name === "count_star"
    ? first.children?.[0]
    : undefined;
}

const groupings = ({ grouping_functions = [] }: Plan, keys: readonly string[]): string[] =>
  grouping_functions.map((list) => `GROUPING(${list.map((at) => keys[Number(at)]).join(", ")})`);

/** GROUP BY by the positions of the keys, which come first. */
export function groupBy({ groups = [], grouping_sets = [] }: Plan): string {
  const sets = grouping_sets.map((set) => set.map(Number));
  const [only, ...more] = sets;
  if (groups.length === 0 && more.length === 0) return "";
  if (only !== undefined && more.length === 0 && only.length === groups.length)
    return ` GROUP BY ${only.map((at) => at + 1).join(", ")}`;
  return ` GROUP BY GROUPING SETS (${sets.map((set) => `(${set.map((at) => at + 1).join(", ")})`).join(", ")})`;
}

/** How many columns a node gives. */
export function widthOf(plan: Plan): number {
  const [a, b] = plan.children ?? [];
  const own = (plan.expressions ?? []).length;
  const of = (child: Plan | undefined): number => (child === undefined ? 0 : widthOf(child));
  switch (plan.type) {
    case "LOGICAL_GET":
      return scannedColumns(plan).length;
    case "LOGICAL_PROJECTION":
      return own;
    case "LOGICAL_FILTER":
    case "LOGICAL_ORDER_BY":
    case "LOGICAL_LIMIT":
    case "LOGICAL_DISTINCT":
    case "LOGICAL_UNION":
    case "LOGICAL_EXCEPT":
    case "LOGICAL_INTERSECT":
      return of(a);
    case "LOGICAL_AGGREGATE_AND_GROUP_BY":
      return (plan.groups ?? []).length + own + (plan.grouping_functions ?? []).length;
    case "LOGICAL_WINDOW":
    case "LOGICAL_UNNEST":
      return of(a) + own;
    case "LOGICAL_CROSS_PRODUCT":
    case "LOGICAL_COMPARISON_JOIN":
    case "LOGICAL_ANY_JOIN":
      if (/SEMI|ANTI/.test(plan.join_type ?? "")) return of(a);
      return plan.join_type === "MARK" ? of(a) + 1 : of(a) + of(b);
    case "LOGICAL_DELIM_JOIN":
      return of(a) + of(b);
    case "LOGICAL_MATERIALIZED_CTE":
      return of(b);
    case "LOGICAL_CTE_REF":
      return (plan.chunk_types ?? []).length;
    case "LOGICAL_EXPRESSION_GET":
      return ((plan.expressions?.[0] ?? []) as unknown as readonly Expression[]).length;
    case "LOGICAL_DUMMY_SCAN":
      return 1;
    default:
      return notWritten(plan.type);
  }
}
