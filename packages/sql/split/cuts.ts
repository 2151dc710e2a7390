import type { Session } from "../duck/session.ts";
import { calledAs, stepsOf } from "./aggregates.ts";
import { type Expression, notWritten, type Order, type Plan, planOf, readsData, tableOf } from "./plan.ts";
import { expressionsText, nodeText } from "./samePlan.ts";
import type { Column, Cut } from "./splitSteps.ts";
import type { State, Steps } from "./steps.ts";
import { write, writeOrder, writeType } from "./writeExpression.ts";
import { groupBy, PlanWriter, selectText, unnestOf } from "./writePlan.ts";

/** A node that chunks compute, and for an aggregate how. */
export interface Found {
  readonly node: Plan;
  readonly above: readonly Plan[];
  readonly steps?: readonly Steps[] | undefined;
  readonly why: string;
}

/** The lowest nodes of a plan that need all rows are left to the finish; what is below them, chunks compute. */
export function findCuts(plan: Plan): Found[] {
  const found: Found[] = [];
  const go = (node: Plan, above: readonly Plan[]): void => {
    const [parent] = above;
    if (isPerChunk(node)) return void found.push({ node, above, why: whyRows(parent) });
    if (!readsData(node)) {
      if (tableOf(node) !== undefined) found.push({ node, above, why: "" });
      else for (const child of node.children ?? []) go(child, [node, ...above]);
      return;
    }
    const [child] = node.children ?? [];
    if (node.type === "LOGICAL_AGGREGATE_AND_GROUP_BY" && child !== undefined && isPerChunk(child)) {
      const { columns } = new PlanWriter().node(child);
      const steps = (node.expressions ?? []).map((one) => stepsOf(one, columns));
      if (steps.every((one) => mayMerge(one, node))) return void found.push({ node, above, steps, why: "" });
    }
    for (const one of node.children ?? []) go(one, [node, ...above]);
  };
  go(plan, []);
  return found;
}

/** Chunks group by all keys; groups of fewer keys, as of a rollup, are made of theirs, which have no order among them. */
function mayMerge(steps: Steps | undefined, { groups = [], grouping_sets: sets = [] }: Plan): steps is Steps {
  if (steps === undefined) return false;
  return steps.isOrdered !== true || sets.every((set) => set.length === groups.length);
}

/** Whether a node's rows over all of data are those over each chunk, one after the other. */
function isPerChunk(plan: Plan): boolean {
  const [a, b] = plan.children ?? [];
  const is = (child: Plan | undefined): boolean => child !== undefined && isPerChunk(child);
  const isOther = (child: Plan | undefined): boolean => child !== undefined && !readsData(child);
  switch (plan.type) {
    case "LOGICAL_GET":
      return tableOf(plan) === "data";
    case "LOGICAL_FILTER":
    case "LOGICAL_PROJECTION":
    case "LOGICAL_UNNEST":
      return is(a);
    case "LOGICAL_CROSS_PRODUCT":
      return (is(a) && isOther(b)) || (isOther(a) && is(b));
    case "LOGICAL_COMPARISON_JOIN":
    case "LOGICAL_ANY_JOIN": {
      const kind = plan.join_type ?? "";
      if (/^(INNER|LEFT|SEMI|ANTI|MARK)$/.test(kind) && is(a) && isOther(b)) return true;
      return /^(INNER|RIGHT)$/.test(kind) && isOther(a) && is(b);
    }
    case "LOGICAL_DELIM_JOIN":
      return is(unnestOf(plan)?.rows);
    default:
      return false;
  }
}

function whyRows(parent: Plan | undefined): string {
  if (parent === undefined) return "the rows of the answer";
  const { type, expressions = [] } = parent;
  const calls = (all: readonly Expression[]): string => all.map(calledAs).join(", ");
  if (type === "LOGICAL_AGGREGATE_AND_GROUP_BY")
    return `the values of ${calls(expressions.filter((one) => !mayMerge(stepsOfAny(one), parent)))}`;
  if (type === "LOGICAL_WINDOW") return "the rows of a window function";
  if (/JOIN|CROSS/.test(type)) return "the rows of a join of answers";
  if (/UNION|EXCEPT|INTERSECT/.test(type)) return "the rows of a set operation";
  return `the rows of ${type.replace("LOGICAL_", "").toLowerCase().replaceAll("_", " ")}`;
}

function stepsOfAny(one: Expression): Steps | undefined {
  try {
    return stepsOf(
      one,
      Array.from({ length: 10_000 }, (_, index) => `c${index}`),
    );
  } catch {
    return undefined;
  }
}

/** The rows of a node, without columns that nothing needs; what is above may leave some of them out early. */
export async function cutRows(
  { node, above, why }: Found,
  wanted: ReadonlySet<number>,
  name: string,
  session: Session,
): Promise<Cut> {
  const written = new PlanWriter().node(node);
  const all = written.columns.map((text, index) => `${text ?? "NULL"} AS c${index}`);
  const types = await session.columns(selectText(written, all));
  const isKept = (index: number): boolean => wanted.has(index) && written.columns[index] !== undefined;
  const list = all.filter((_, index) => isKept(index));
  const select = selectText(written, list.length > 0 ? list : ["NULL AS nothing"]);
  const isTable = !readsData(node);
  const trim = isTable ? undefined : trimOf(above);
  const chunk = trimmed(select, trim, written.columns);
  await checkRows(chunk, node, { isEmpty: list.length === 0, trim }, session);
  const kept = types.filter((_, index) => isKept(index));
  const own = all.map((_, index) => `c${index}`);
  const answer = own.map((column, index) =>
    isKept(index) ? column : `CAST(NULL AS ${types[index]?.[1]}) AS ${column}`,
  );
  return {
    chunk,
    columns: kept.length > 0 ? kept : [["nothing", "INTEGER"]],
    merge: trim === undefined ? undefined : trimmed("SELECT * FROM parts", trim, own),
    isTable,
    answer: `SELECT ${answer.length > 0 ? answer.join(", ") : "nothing AS c0"} FROM parts`,
    name,
    ...(isTable ? {} : { carries: why }),
  };
}

/** What leaves rows out early. */
interface Trim {
  readonly orders?: readonly Order[];
  readonly limit?: bigint;
  /** Of `distinct on`; empty for `distinct`. */
  readonly on?: readonly Expression[];
}

function trimOf([parent, grand]: readonly Plan[]): Trim | undefined {
  if (parent?.type === "LOGICAL_DISTINCT") {
    if (parent.distinct_type === "DISTINCT") return { on: [] };
    return { on: parent.distinct_targets ?? [], orders: parent.order_by?.orders ?? [] };
  }
  const order = parent?.type === "LOGICAL_ORDER_BY" ? parent : undefined;
  const limit = order === undefined ? parent : grand;
  const { limit_val: first, offset_val: skipped } = limit ?? {};
  if (limit?.type !== "LOGICAL_LIMIT" || first?.type !== "CONSTANT_VALUE") return undefined;
  if (!/^(UNSET|CONSTANT_VALUE)$/.test(skipped?.type ?? "UNSET")) return undefined;
  const rows = BigInt(first.constant_integer ?? 0) + BigInt(skipped?.constant_integer ?? 0);
  return { ...(order === undefined ? {} : { orders: order.orders ?? [] }), limit: rows };
}

function trimmed(select: string, trim: Trim | undefined, columns: readonly (string | undefined)[]): string {
  const { orders = [], limit, on } = trim ?? {};
  const targets = (on ?? []).map((one) => write(one, columns)).join(", ");
  const distinct = on === undefined ? "" : on.length === 0 ? "DISTINCT " : `DISTINCT ON (${targets}) `;
  const by = orders.length === 0 ? "" : ` ORDER BY ${writeOrder(orders, columns)}`;
  return `SELECT ${distinct}${select.slice("SELECT ".length)}${by}${limit === undefined ? "" : ` LIMIT ${limit}`}`;
}

/** Throws `NotWritten` if a chunk's statement does not give the rows of the node before any are left out. */
async function checkRows(
  chunk: string,
  node: Plan,
  { isEmpty, trim }: { readonly isEmpty: boolean; readonly trim: Trim | undefined },
  session: Session,
): Promise<void> {
  const plan = await planOf(chunk, session);
  let bound: Plan | undefined = plan;
  // Columns that only order the rows are chosen away above.
  if (trim !== undefined || isEmpty) {
    while (trim !== undefined && /LIMIT|ORDER_BY|DISTINCT/.test(bound?.type ?? ""))
      bound = bound?.children?.[0];
    if (isEmpty) bound = bound?.children?.[0];
  }
  const text = nodeText(node);
  for (let at = bound; at !== undefined; at = at.children?.[0]) {
    if (nodeText(at) === text) return;
    if (!/PROJECTION|LIMIT|ORDER_BY|DISTINCT/.test(at.type)) break;
  }
  other();
}

/** Groups of one chunk with the states of their aggregates. Grouping sets are left to the answer. */
export async function cutGroups(
  node: Plan,
  steps: readonly Steps[],
  name: string,
  session: Session,
): Promise<Cut> {
  const [child = notWritten("a group of nothing")] = node.children ?? [];
  const written = new PlanWriter().node(child);
  const keys = (node.groups ?? []).map((one) => write(one, written.columns));
  const own = steps.flatMap((one) => one.states);
  // A group without aggregates and without keys is one row.
  const states = own.length + keys.length > 0 ? own : [counted];
  const list = [
    ...keys.map((text, index) => `${text} AS k${index}`),
    ...states.map(({ map }, index) => `${map} AS s${index}`),
  ];
  const by = keys.length === 0 ? "" : ` GROUP BY ${keys.map((_, index) => index + 1).join(", ")}`;
  const chunk = selectText(written, list, by);
  await checkGroups(chunk, node, child, session);
  const columns = await session.columns(chunk);
  let first = 0;
  const answers = steps.map((one, index) => {
    const merged = one.states.map((_, at) => `t.s${first + at}`);
    first += one.states.length;
    const type = node.expressions?.[index]?.return_type ?? notWritten("an aggregate");
    return `CAST(${one.finish(merged)} AS ${writeType(type)})`;
  });
  const sets = node.grouping_functions ?? [];
  const groupings = sets.map(
    (set, index) => `GROUPING(${set.map((at) => `k${at}`).join(", ")}) AS g${index}`,
  );
  const outputs = [
    ...keys.map((_, index) => `t.k${index}`),
    ...answers,
    ...sets.map((_, index) => `t.g${index}`),
  ];
  const named = outputs.map((text, index) => `${text} AS c${index}`);
  return {
    chunk,
    columns,
    merge: mergedStates(columns, states, { more: [], group: by }),
    answer: `SELECT ${named.join(", ") || "NULL AS c0"} FROM (${mergedStates(columns, states, { more: groupings, group: groupBy(node) })}) AS t`,
    name,
  };
}

const counted: State = { map: "count(*)", reduce: (column) => `sum(${column})` };

/** Throws `NotWritten` if a chunk's statement does not group the same rows by the same keys. */
async function checkGroups(chunk: string, node: Plan, child: Plan, session: Session): Promise<void> {
  let bound: Plan | undefined = await planOf(chunk, session);
  while (bound?.type === "LOGICAL_PROJECTION") bound = bound.children?.[0];
  const below = bound?.type === "LOGICAL_AGGREGATE_AND_GROUP_BY" ? bound.children?.[0] : undefined;
  if (below === undefined || nodeText(below) !== nodeText(child)) return other();
  if (expressionsText(bound?.groups ?? [], below) !== expressionsText(node.groups ?? [], child)) other();
}

/** The groups of `parts` with their states merged, which keep their types. */
function mergedStates(
  columns: readonly Column[],
  states: readonly State[],
  { more, group }: { readonly more: readonly string[]; readonly group: string },
): string {
  const keys = columns.slice(0, columns.length - states.length).map(([name]) => name);
  const merged = states.map(({ reduce }, index) => `${reduce(`s${index}`)} AS s${index}`);
  const typed = states.map(({ tidy }, index) => {
    const state = tidy === undefined ? `t.s${index}` : tidy(`t.s${index}`);
    return `CAST(${state} AS ${columns[keys.length + index]?.[1]}) AS s${index}`;
  });
  const inner = `SELECT ${[...keys, ...merged, ...more].join(", ")} FROM parts${group}`;
  const others = more.map((_, index) => `t.g${index}`);
  return `SELECT ${[...keys.map((key) => `t.${key}`), ...typed, ...others].join(", ")} FROM (${inner}) AS t`;
}

const other = (): never => notWritten("the plan of its chunks is another when it is bound again");
