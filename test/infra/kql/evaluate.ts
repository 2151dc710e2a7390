import { type Row, type Scope, type Value, valueOn } from "./expressions.ts";
import { type Tree, treeOf } from "./tree.ts";

/**
 * Evaluates a query on rows, with the operators that the queries of `infra/queries` use: where, extend, project, distinct,
 * summarize, order, union, join kind=leftanti, let, materialize and toscalar. The language service parses and checks it
 * first; whatever is not known here throws. Microsoft publishes no engine that runs without a cluster or a container.
 */
export function evaluateQuery(
  text: string,
  tables: Readonly<Record<string, readonly Row[]>>,
  nowMs: number,
): readonly Row[] {
  const named = new Map<string, Value>();
  const scope: Scope = { nowMs, named, table: (tree) => rowsOf(tree, tables, scope) };
  let result: readonly Row[] = [];
  for (const { kind, parts } of treeOf(text).parts) {
    const [first, second] = parts;
    if (kind === "ExpressionStatement") result = scope.table(first as Tree);
    else if (kind === "LetStatement" && second !== undefined) {
      const isTable = /^(MaterializeExpression|PipeExpression)$/.test(second.kind);
      named.set(first?.tokens[0] ?? "", isTable ? scope.table(second) : valueOn({}, second, scope));
    } else throw new Error(`${kind} is not evaluated here`);
  }
  return result;
}

function rowsOf(tree: Tree, tables: Readonly<Record<string, readonly Row[]>>, scope: Scope): readonly Row[] {
  const [first, second] = tree.parts as readonly [Tree, Tree];
  switch (tree.kind) {
    case "ParenthesizedExpression":
    case "MaterializeExpression":
      return scope.table(first);
    case "NameReference": {
      const name = tree.tokens[0] ?? "";
      const rows = scope.named.get(name) ?? tables[name] ?? [];
      return rows as readonly Row[];
    }
    case "UnionOperator":
      return union(tree, scope);
    case "PipeExpression":
      return applied(scope.table(first), second, scope);
    default:
      throw new Error(`${tree.kind} is no table here`);
  }
}

const union = (tree: Tree, scope: Scope): Row[] =>
  tree.parts.filter(({ kind }) => kind !== "NamedParameter").flatMap((part) => scope.table(part));

function applied(rows: readonly Row[], operator: Tree, scope: Scope): readonly Row[] {
  const parts = operator.parts.filter(({ kind }) => kind !== "NamedParameter");
  switch (operator.kind) {
    case "FilterOperator":
      return rows.filter((row) => valueOn(row, parts[0] as Tree, scope) === true);
    case "ExtendOperator":
      return rows.map((row) => {
        const extended: Record<string, Value> = { ...row };
        for (const part of parts) Object.assign(extended, column(extended, part, scope));
        return extended;
      });
    case "ProjectOperator":
      return rows.map((row) => Object.assign({}, ...parts.map((part) => column(row, part, scope))));
    case "DistinctOperator":
      return [...grouped(rows, parts, scope).values()].map(({ key }) => key);
    case "SortOperator":
      return rows; // Order is for people.
    case "UnionOperator":
      return [...rows, ...union(operator, scope)];
    case "SummarizeOperator":
      return summarized(rows, parts, scope);
    case "JoinOperator": {
      const [other, on] = parts as unknown as readonly [Tree, Tree];
      const kind = operator.parts[0]?.parts[1]?.tokens[0];
      if (kind !== "leftanti") throw new Error(`join kind=${kind} is not evaluated here`);
      const there = new Set(grouped(scope.table(other), on.parts, scope).keys());
      return rows.filter((row) => !there.has(keyOf(row, on.parts, scope)));
    }
    default:
      throw new Error(`${operator.kind} is not evaluated here`);
  }
}

/** A column by its given name, or by the name of what it is made of. */
function column(row: Row, part: Tree, scope: Scope): Row {
  if (part.kind === "NameReference") return { [part.tokens[0] ?? ""]: valueOn(row, part, scope) };
  const [name, value] = part.parts as readonly [Tree, Tree];
  if (part.kind !== "SimpleNamedExpression") throw new Error(`${part.kind} is no column here`);
  return { [name.tokens[0] ?? ""]: valueOn(row, value, scope) };
}

const keyRow = (row: Row, by: readonly Tree[], scope: Scope): Row =>
  Object.assign({}, ...by.map((part) => column(row, part, scope)));
const keyOf = (row: Row, by: readonly Tree[], scope: Scope): string => JSON.stringify(keyRow(row, by, scope));

function grouped(rows: readonly Row[], by: readonly Tree[], scope: Scope) {
  const groups = new Map<string, { readonly key: Row; readonly rows: Row[] }>();
  for (const row of rows) {
    const text = keyOf(row, by, scope);
    const group = groups.get(text) ?? { key: keyRow(row, by, scope), rows: [] };
    group.rows.push(row);
    groups.set(text, group);
  }
  return groups;
}

function summarized(rows: readonly Row[], parts: readonly Tree[], scope: Scope): Row[] {
  const clause = parts.find(({ kind }) => kind === "SummarizeByClause");
  const aggregates = parts.filter((part) => part !== clause);
  const groups = [...grouped(rows, clause?.parts ?? [], scope).values()];
  // Without `by` there is one row, even of nothing.
  const all = clause === undefined && groups.length === 0 ? [{ key: {}, rows: [] }] : groups;
  return all.map((group) =>
    Object.assign({}, group.key, ...aggregates.map((part) => aggregate(group.rows, part, scope, group.key))),
  );
}

function aggregate(rows: readonly Row[], part: Tree, scope: Scope, key: Row): Row {
  const named = part.kind === "SimpleNamedExpression";
  const call = (named ? part.parts[1] : part) as Tree;
  const name = call.parts[0]?.tokens[0] ?? "";
  const given = call.parts[1]?.parts ?? [];
  const out = named ? (part.parts[0]?.tokens[0] ?? "") : `${name}_${given[0]?.tokens[0] ?? ""}`;
  const values = (among = rows) =>
    among
      .map((row) => valueOn(row, given[0] as Tree, scope))
      .filter((one) => one !== null && one !== undefined);
  const where = (at: number) => rows.filter((row) => valueOn(row, given[at] as Tree, scope) === true);
  const edge = (list: readonly Value[], sign: 1 | -1): Value =>
    list.reduce<Value>(
      (best, one) => (best === null || sign * (Number(one) - Number(best)) > 0 ? one : best),
      null,
    );
  switch (name) {
    case "count":
      return { [out]: rows.length };
    case "countif":
      return { [out]: where(0).length };
    case "sum":
      return { [out]: values().reduce<number>((sum, one) => sum + Number(one), 0) };
    case "max":
    case "min":
      return { [out]: edge(values(), name === "max" ? 1 : -1) };
    case "maxif":
    case "minif":
      return { [out]: edge(values(where(1)), name === "maxif" ? 1 : -1) };
    case "take_any":
      return { [out]: values()[0] ?? null };
    case "take_anyif":
      return { [out]: values(where(1))[0] ?? null };
    case "dcount":
      return { [out]: new Set(values()).size };
    case "make_set":
      return { [out]: [...new Set(values())] };
    case "arg_max": {
      const best = edge(values(), 1);
      const row = rows.find((one) => valueOn(one, given[0] as Tree, scope) === best) ?? {};
      const star = given.some(({ kind }) => kind === "StarExpression");
      const rest = given.slice(1).filter(({ kind }) => kind === "NameReference");
      const first = given[0]?.tokens[0] ?? out;
      return { ...(star ? row : keyRow(row, rest, scope)), ...key, [named ? out : first]: best };
    }
    default:
      throw new Error(`the aggregate ${name} is not evaluated here`);
  }
}
