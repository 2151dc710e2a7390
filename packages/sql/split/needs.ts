import { NotWritten, type Plan, refsIn, scannedColumns, tableOf } from "./plan.ts";
import { unnestOf, widthOf } from "./writePlan.ts";

type Wanted = ReadonlySet<number>;
type Needs = readonly (readonly [child: Plan, wanted: Wanted])[];

/**
 * Calls `visit` for scans and for nodes of `stops` with the indexes of those of their columns on which what is `wanted` of
 * a node depends: a scan itself names all columns below a `select *`.
 */
export function visitNeeds(
  plan: Plan,
  wanted: Wanted | "all",
  visit: (plan: Plan, wanted: Wanted) => void,
  stops: ReadonlySet<Plan> = new Set(),
): void {
  const ctes = new Map<number, Set<number>>();
  const go = (node: Plan, want: Wanted): void => {
    if (stops.has(node)) {
      visit(node, want);
      return;
    }
    if (node.type === "LOGICAL_GET") visit(node, want);
    if (node.type === "LOGICAL_CTE_REF")
      for (const index of want) ctes.get(Number(node.cte_index ?? 0))?.add(index);
    const [body, main] = node.children ?? [];
    if (node.type === "LOGICAL_MATERIALIZED_CTE" && body !== undefined && main !== undefined) {
      const read = new Set<number>();
      ctes.set(Number(node.table_index ?? 0), read);
      go(main, want);
      go(body, read);
    } else for (const [child, of] of needsOf(node, want)) go(child, of);
  };
  go(plan, wanted === "all" ? allOf(plan) : wanted);
}

/** The columns of `data` on which what is wanted of a node depends. */
export function neededColumns(plan: Plan, wanted: Wanted | "all"): Set<string> {
  const found = new Set<string>();
  visitNeeds(plan, wanted, (scan, of) => {
    if (tableOf(scan) !== "data") return;
    for (const [index, name] of scannedColumns(scan).entries())
      if (name !== undefined && of.has(index)) found.add(name);
  });
  return found;
}

/** What a node needs of its children for what is wanted of it; all of them, if they are not known here. */
function needsOf(node: Plan, want: Wanted): Needs {
  const all = (): Needs => (node.children ?? []).map((child) => [child, allOf(child)] as const);
  try {
    return knownNeeds(node, want, all);
  } catch (error) {
    if (!(error instanceof NotWritten)) throw error;
    return all();
  }
}

function knownNeeds(node: Plan, want: Wanted, all: () => Needs): Needs {
  const { children = [], expressions = [] } = node;
  const [a, b] = children;
  const maps = [node.projection_map, node.left_projection_map, node.right_projection_map];
  if (maps.some((map) => (map ?? []).length > 0) || a === undefined) return all();
  switch (node.type) {
    case "LOGICAL_PROJECTION":
      return [[a, refsIn(expressions.filter((_, index) => want.has(index)))]];
    case "LOGICAL_FILTER":
    case "LOGICAL_ORDER_BY":
    case "LOGICAL_LIMIT":
      return [[a, union(refsIn([expressions, node.orders, node.limit_val, node.offset_val]), want)]];
    case "LOGICAL_AGGREGATE_AND_GROUP_BY":
      return [[a, refsIn([node.groups, expressions])]];
    case "LOGICAL_DISTINCT":
      if (node.distinct_type === "DISTINCT") return all();
      return [[a, union(refsIn([node.distinct_targets, node.order_by]), want)]];
    case "LOGICAL_WINDOW":
    case "LOGICAL_UNNEST":
      return [[a, union(refsIn(expressions), below(want, widthOf(a)))]];
    case "LOGICAL_CROSS_PRODUCT":
    case "LOGICAL_COMPARISON_JOIN":
    case "LOGICAL_ANY_JOIN": {
      if (b === undefined || (node.duplicate_eliminated_columns ?? []).length > 0) return all();
      const width = widthOf(a);
      const any = union(refsIn(node.condition), want);
      const right =
        node.join_type === "MARK" ? [] : [...any].filter((at) => at >= width).map((at) => at - width);
      const sides = [
        refsIn((node.conditions ?? []).map(({ left }) => left)),
        refsIn((node.conditions ?? []).map((one) => one.right)),
      ] as const;
      return [
        [a, union(sides[0], below(any, width))],
        [b, union(sides[1], new Set(right))],
      ];
    }
    case "LOGICAL_DELIM_JOIN": {
      const found = unnestOf(node);
      if (found === undefined) return all();
      return [[found.rows, union(refsIn(found.list), below(want, widthOf(found.rows)))]];
    }
    default:
      return all();
  }
}

export const union = (a: Wanted, b: Wanted): Wanted => new Set([...a, ...b]);
const below = (want: Wanted, width: number): Wanted => new Set([...want].filter((index) => index < width));

/** A node that is not known here may give any number of columns. */
function allOf(plan: Plan): Wanted {
  let width = 10_000;
  try {
    width = widthOf(plan);
  } catch {}
  return new Set(Array.from({ length: width }, (_, index) => index));
}
