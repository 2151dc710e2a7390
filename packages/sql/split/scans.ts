import { identifier } from "../duck/session.ts";
import {
  type Expression,
  indexOf,
  isRef,
  NotWritten,
  type Plan,
  refsIn,
  scannedColumns,
  tableOf,
} from "./plan.ts";
import { comparisons, write } from "./writeExpression.ts";
import { widthOf } from "./writePlan.ts";

/** What every row of `data` must satisfy, by itself, to count for one scan. */
export interface Condition {
  /** An expression of SQL over the columns by name. */
  readonly text: string;
  readonly columns: readonly string[];
  /** If it compares one column with a constant. */
  readonly bounds: readonly Bound[];
  /** It is made of such comparisons alone, which fail for no row. */
  readonly isPlain: boolean;
}

/** `column operator constant`. */
export interface Bound {
  readonly column: string;
  readonly operator: "=" | "<" | "<=" | ">" | ">=";
  readonly constant: string;
  /** The type of numbers to which the column is cast for it. */
  readonly type?: string;
}

/** The conditions of each scan of `data` in a plan: a file or row group that fails one of each is not needed. */
export function scanConditions(plan: Plan): readonly (readonly Condition[])[] {
  const scans: (readonly Condition[])[] = [];
  const go = (node: Plan, given: readonly Expression[]): void => {
    if (tableOf(node) === "data") {
      const names = scannedColumns(node);
      scans.push(given.flatMap((one) => conditionOf(one, names) ?? []));
      return;
    }
    const [first, ...others] = node.children ?? [];
    if (first !== undefined) go(first, passedSafely(node, first, given));
    for (const other of others) go(other, []);
  };
  go(plan, []);
  return scans;
}

function passedSafely(node: Plan, child: Plan, given: readonly Expression[]): readonly Expression[] {
  try {
    return passed(node, child, given);
  } catch (error) {
    if (!(error instanceof NotWritten)) throw error;
    return [];
  }
}

/** The conditions on a node's rows, and its own, that hold for the rows of its first child. */
function passed(node: Plan, child: Plan, given: readonly Expression[]): readonly Expression[] {
  const { type, expressions = [], join_type: kind = "" } = node;
  if (type === "LOGICAL_FILTER") return [...given, ...expressions.flatMap(conjuncts)];
  if (type === "LOGICAL_PROJECTION") {
    const below = expressions.map((one) => (isRef(one) ? one : undefined));
    return given.flatMap((one) => replacedRefs(one, below) ?? []);
  }
  const isLeft = type === "LOGICAL_CROSS_PRODUCT" || /^(INNER|LEFT|SEMI|ANTI|MARK)$/.test(kind);
  if (!isLeft || !/^LOGICAL_(CROSS_PRODUCT|COMPARISON_JOIN|ANY_JOIN)$/.test(type)) return [];
  const width = given.length === 0 ? 0 : widthOf(child);
  return given.filter((one) => [...refsIn(one)].every((index) => index < width));
}

const conjuncts = (one: Expression): readonly Expression[] =>
  one.type === "CONJUNCTION_AND" ? (one.children ?? []).flatMap(conjuncts) : [one];

/** An expression over what a projection reads; undefined where that is more than a column. */
function replacedRefs<T>(value: T, below: readonly (Expression | undefined)[]): T | undefined {
  let isKept = true;
  const replaced = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(replaced);
    if (typeof inner !== "object" || inner === null) return inner;
    if (isRef(inner as Expression)) {
      const other = below[indexOf(inner as Expression)];
      if (other === undefined) isKept = false;
      return other;
    }
    return Object.fromEntries(
      Object.entries(inner).map(([name, one]) => [name, name === "lambda_expr" ? one : replaced(one)]),
    );
  };
  const done = replaced(value) as T;
  return isKept ? done : undefined;
}

function conditionOf(one: Expression, names: readonly (string | undefined)[]): Condition | undefined {
  const columns = [...refsIn(one)].flatMap((index) => names[index] ?? []);
  if (columns.length === 0) return undefined;
  try {
    const texts = names.map((name) => (name === undefined ? undefined : identifier(name)));
    const bounds = boundsOf(one, names);
    return { text: write(one, texts), columns, bounds, isPlain: bounds.length > 0 };
  } catch {
    return undefined;
  }
}

type Operator = Bound["operator"];
const reversed: Readonly<Record<Operator, Operator>> = {
  "=": "=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

function boundsOf(one: Expression, names: readonly (string | undefined)[]): readonly Bound[] {
  const bound = (
    column: Expression | undefined,
    operator: Operator,
    constant: Expression | undefined,
  ): Bound[] => {
    const inner = column?.expression_class === "BOUND_CAST" && !column.try_cast ? column.child : column;
    if (column === undefined || inner === undefined || constant === undefined || !isRef(inner)) return [];
    const name = names[indexOf(inner)];
    if (name === undefined || !isConstant(constant)) return [];
    if (inner === column) return [{ column: name, operator, constant: write(constant, []) }];
    const [from, to] = [inner.return_type?.id ?? "", column.return_type?.id ?? ""];
    const isWider = /^U?(TINY|SMALL|BIG)?INT(EGER)?$/.test(from) && /^(BIGINT|HUGEINT|DOUBLE)$/.test(to);
    return isWider ? [{ column: name, operator, constant: write(constant, []), type: to }] : [];
  };
  if (one.expression_class === "BOUND_BETWEEN" && one.lower_inclusive && one.upper_inclusive)
    return [...bound(one.input, ">=", one.lower), ...bound(one.input, "<=", one.upper)];
  if (one.expression_class !== "BOUND_COMPARISON") return [];
  const operator = comparisons[one.type] as Operator;
  if (!(operator in reversed)) return [];
  return [...bound(one.left, operator, one.right), ...bound(one.right, reversed[operator], one.left)];
}

/** A constant, or a cast of one: what it gives is the same for every row. */
const isConstant = (one: Expression): boolean =>
  one.expression_class === "BOUND_CONSTANT" ||
  (one.expression_class === "BOUND_CAST" && one.child?.expression_class === "BOUND_CONSTANT");
