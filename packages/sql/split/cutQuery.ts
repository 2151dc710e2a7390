import { isAggregate } from "./aggregates.ts";
import { entriesOf } from "./checkQuery.ts";
import {
  type Functions,
  isTree,
  type Json,
  listOf,
  refused,
  replaced,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/** A node of a query that reads rows of data and does more than choose and change them one by one. */
export interface Core {
  readonly node: Tree;
  /** The common table expressions that it may read, in order; none of them has been cut. */
  readonly entries: readonly Tree[];
}

export interface Cut {
  /** The query in which each core is replaced by what `cut` made of it. */
  readonly rest: Tree;
  readonly cores: readonly Core[];
}

type Relation = "rows" | "table" | "answer";
type Scope = ReadonlyMap<string, { readonly is: Relation; readonly entry: Tree }>;

/**
 * Finds the cores of a query: each is computed in steps, and all around it once, from its answer. `standIn` makes what
 * takes the place of a core.
 */
export function cutQuery(root: Tree, functions: Functions, standIn: (index: number) => Tree): Cut {
  const cores: Core[] = [];

  const cutHere = (node: Tree, scope: Scope): Tree => {
    const entries = [...scope.values()]
      .filter(({ is, entry }) => is !== "answer" && "key" in entry)
      .map(({ entry }) => entry);
    const alone = { ...node, cte_map: { map: [] } };
    if (readsAnswer(alone, scope) || timesRead(alone, scope) > 1) throw twice();
    cores.push({ node: alone, entries });
    return standIn(cores.length - 1);
  };

  const cut = (node: Tree, outer: Scope): Tree => {
    const { scope, kept } = cutEntries(node, outer);
    const withEntries = { ...node, cte_map: { map: kept } };
    if (node["type"] !== "SELECT_NODE") return replacedNodes(withEntries, (inner) => cut(inner, scope));
    const rows = rowSources(node["from_table"], scope, functions);
    if (rows > 1) throw refused("it joins data with itself, whose rows meet across chunks");
    if (rows === 0)
      return replacedNodes(withEntries, (inner) => (readsData(inner, scope) ? cut(inner, scope) : inner));
    return { ...cutHere(node, scope) };
  };

  const cutEntries = (node: Tree, outer: Scope): { scope: Scope; kept: Tree[] } => {
    const scope = new Map(outer);
    const kept: Tree[] = [];
    for (const entry of entriesOf(node)) {
      const inner = nodeOf(entry["value"]);
      const name = textOf(entry["key"]).toLowerCase();
      if (inner === undefined || !readsData(inner, scope)) {
        scope.set(name, { is: inner !== undefined && readsAnswer(inner, scope) ? "answer" : "table", entry });
        kept.push(entry);
      } else if (isRowWise(inner, scope, functions)) {
        scope.set(name, { is: "rows", entry });
      } else {
        const done = replaced(entry, (tree) => (tree === inner ? cut(inner, scope) : undefined));
        scope.set(name, { is: "answer", entry: done });
        kept.push(done);
      }
    }
    return { scope, kept };
  };

  return { rest: cut(root, new Map([["data", { is: "rows", entry: {} }]])), cores };
}

const twice = () =>
  refused("its rows are compared with an answer over all rows, which needs two passes over data");

const nodeOf = (value: Json | undefined): Tree | undefined => {
  const query = isTree(value) ? value["query"] : undefined;
  const node = isTree(query) ? query["node"] : undefined;
  return isTree(node) ? node : undefined;
};

const isNode = (tree: Tree): boolean => textOf(tree["type"]).endsWith("_NODE");

/** Replaces the nodes directly within a node, but not those of its common table expressions. */
const replacedNodes = (node: Tree, change: (inner: Tree) => Tree): Tree =>
  Object.fromEntries(
    Object.entries(node).map(([name, value]) => [
      name,
      name === "cte_map" ? value : replaced(value, (tree) => (isNode(tree) ? change(tree) : undefined)),
    ]),
  );

const tablesOf = (value: Json | undefined): string[] =>
  [...treesOf(value)]
    .filter((tree) => tree["type"] === "BASE_TABLE")
    .map((tree) => textOf(tree["table_name"]).toLowerCase());

const timesRead = (value: Json | undefined, scope: Scope): number =>
  tablesOf(value).filter((name) => scope.get(name)?.is === "rows").length;

const readsData = (value: Json | undefined, scope: Scope): boolean => timesRead(value, scope) > 0;

const readsAnswer = (value: Json | undefined, scope: Scope): boolean =>
  tablesOf(value).some((name) => scope.get(name)?.is === "answer");

/** How many sources of rows of data a FROM has. */
function rowSources(from: Json | undefined, scope: Scope, functions: Functions): number {
  if (!isTree(from)) return 0;
  if (from["type"] === "BASE_TABLE") return readsData(from, scope) ? 1 : 0;
  if (from["type"] === "SUBQUERY") {
    const inner = isTree(from["subquery"]) ? from["subquery"]["node"] : undefined;
    return isTree(inner) && readsData(inner, scope) && isRowWise(inner, scope, functions) ? 1 : 0;
  }
  if (from["type"] !== "JOIN") return 0;
  const left = rowSources(from["left"], scope, functions);
  const right = rowSources(from["right"], scope, functions);
  if (left + right === 1) checkJoin(from, left === 1 ? "left" : "right", scope);
  return left + right;
}

/** Each row of data must meet its partners in its own chunk. */
function checkJoin(join: Tree, side: "left" | "right", scope: Scope): void {
  const other = join[side === "left" ? "right" : "left"];
  if (readsData(other, scope) || readsAnswer(other, scope)) throw twice();
  const type = textOf(join["join_type"]);
  const keeps = { left: ["INNER", "LEFT", "SEMI", "ANTI", "MARK", "SINGLE"], right: ["INNER", "RIGHT"] }[
    side
  ];
  if (!keeps.includes(type) || join["ref_type"] === "POSITIONAL")
    throw refused(
      `a ${type.toLowerCase()} join needs all rows of data to know which rows have no partner`,
      "Put data on the left of a left join, or use an inner join",
    );
  if (join["ref_type"] === "ASOF" && side === "right")
    throw refused("an ASOF join needs all rows of data on its right", "Put data on the left");
}

/** Whether a query makes its rows from single rows of data, in their order. */
function isRowWise(node: Tree, scope: Scope, functions: Functions): boolean {
  if (node["type"] !== "SELECT_NODE" || entriesOf(node).length > 0) return false;
  if (rowSources(node["from_table"], scope, functions) !== 1 || timesRead(node, scope) > 1) return false;
  const isChosen = listOf(node["modifiers"]).length > 0 || node["qualify"] !== null;
  return !isChosen && !isGrouped(node, functions) && !hasWindow(node["select_list"]);
}

/** Whether a node makes groups of rows, or one of all. */
export function isGrouped(node: Tree, functions: Functions): boolean {
  if (listOf(node["group_expressions"]).length > 0 || isForced(node) || node["having"] !== null) return true;
  const { select_list, qualify, modifiers } = node;
  return ownTrees([select_list, qualify, modifiers] as Json).some((tree) => isAggregate(tree, functions));
}

export const isForced = (node: Tree): boolean => node["aggregate_handling"] === "FORCE_AGGREGATES";

const hasWindow = (value: Json | undefined): boolean =>
  ownTrees(value).some((tree) => tree["class"] === "WINDOW");

/** All trees of an expression but those within its subqueries. */
const ownTrees = (value: Json | undefined): Tree[] => [
  ...treesOf(value, (tree) => tree["class"] !== "SUBQUERY"),
];
