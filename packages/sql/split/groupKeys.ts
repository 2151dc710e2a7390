import { isAggregate } from "./aggregates.ts";
import { isForced } from "./cutQuery.ts";
import {
  columnTree,
  type Functions,
  isTree,
  type Json,
  listOf,
  nameOf,
  refused,
  replaced,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/** Whether two expressions are the same but for aliases, case of names, and a table's name before a column. */
export function sameExpression(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => sameExpression(one, b[index]));
  if (!isTree(a) || !isTree(b)) return a === b;
  if (a["class"] === "COLUMN_REF" && b["class"] === "COLUMN_REF") return sameColumn(a, b);
  const names = Object.keys(a).filter((name) => name !== "alias");
  return names.every((name) => sameExpression(a[name], b[name]));
}

function sameColumn(a: Tree, b: Tree): boolean {
  const [left, right] = [a, b].map((one) =>
    (one["column_names"] as string[]).map((name) => name.toLowerCase()),
  );
  if (left === undefined || right === undefined) return false;
  if (left.length === 1 || right.length === 1) return left.at(-1) === right.at(-1);
  return left.join("\n") === right.join("\n");
}

/** What a node groups by, and what the names in its expressions mean. */
export class GroupKeys {
  readonly expressions: readonly Tree[];
  readonly #node: Tree;
  readonly #functions: Functions;
  readonly #items: ReadonlyMap<string, Tree>;
  readonly #columns: ReadonlySet<string> | undefined;

  constructor(node: Tree, functions: Functions, columns: readonly string[] | undefined) {
    this.#node = node;
    this.#functions = functions;
    this.#columns = columns === undefined ? undefined : new Set(columns.map((name) => name.toLowerCase()));
    const items = listOf(node["select_list"]);
    this.#items = new Map(
      items
        .filter((item) => textOf(item["alias"]) !== "")
        .map((item) => [textOf(item["alias"]).toLowerCase(), item]),
    );
    const given = isForced(node)
      ? items.filter((item) => !this.#hasAggregate(item)).filter((item) => item["class"] !== "CONSTANT")
      : listOf(node["group_expressions"]).map((one) => this.#keyOf(one, items));
    this.expressions = given.map((one) => ({ ...this.resolved(one), alias: "" }));
  }

  /** The index of the key that an expression is, or -1. */
  indexOf(tree: Tree): number {
    const isValue = "class" in tree && tree["class"] !== "CONSTANT";
    return isValue ? this.expressions.findIndex((key) => sameExpression(key, this.resolved(tree))) : -1;
  }

  isAlias(tree: Tree): boolean {
    return (tree["column_names"] as readonly string[]).length === 1 && this.#items.has(nameOf(tree));
  }

  /** The expression that a name stands for, if it is the alias of one and no column. */
  aliased(tree: Tree): Tree | undefined {
    if (tree["class"] !== "COLUMN_REF" || !this.isAlias(tree)) return undefined;
    const name = nameOf(tree);
    const item = this.#items.get(name);
    if (item === undefined || this.#columns?.has(name)) return undefined;
    // An alias that its own expression reads is the name of a column as well, which comes first.
    const readsItself = [...treesOf(item)].some(
      (one) => one["class"] === "COLUMN_REF" && nameOf(one) === name,
    );
    return readsItself ? undefined : item;
  }

  /** An expression in which aliases are replaced by what they stand for. */
  resolved<T extends Json>(value: T, depth = 0): T {
    if (depth > 50) throw refused("its names refer to each other");
    return replaced(value, (tree) => {
      const meant = this.aliased(tree);
      return meant === undefined
        ? undefined
        : { ...this.resolved(meant, depth + 1), alias: textOf(tree["alias"]) };
    });
  }

  /** Every aggregate of the node, with names resolved. */
  *aggregatesOf(): Generator<Tree> {
    const { select_list, having, qualify, modifiers } = this.#node;
    for (const tree of this.within([select_list, having, qualify, modifiers] as Json))
      if (isAggregate(tree, this.#functions)) yield this.resolved(tree);
  }

  /** All trees of an expression but those within a subquery. */
  within(value: Json): Generator<Tree> {
    return treesOf(value, (tree) => tree["class"] !== "SUBQUERY");
  }

  /** What `grouping(a, b)` is, from the bits of `grouping` of all keys. */
  groupingOf(tree: Tree, merged: string): Json {
    const count = this.expressions.length;
    const bits = listOf(tree["children"]).map((child) => {
      const key = this.indexOf(child);
      if (key < 0) throw refused("grouping() needs columns of GROUP BY");
      return operator("&", operator(">>", columnTree(merged, "sets"), whole(count - 1 - key)), whole(1));
    });
    const first: Tree = whole(0);
    const value = bits.reduce((sum, bit) => operator("+", operator("*", sum, whole(2)), bit), first);
    return { ...value, alias: textOf(tree["alias"]) };
  }

  #hasAggregate(item: Tree): boolean {
    return [...this.within(this.resolved(item))].some(
      (tree) => isAggregate(tree, this.#functions) || tree["class"] === "WINDOW",
    );
  }

  #keyOf(key: Tree, items: readonly Tree[]): Tree {
    const value = isTree(key["value"]) && key["class"] === "CONSTANT" ? key["value"]["value"] : undefined;
    if (typeof value !== "number") return key;
    const item = items[value - 1];
    if (item === undefined) throw refused(`GROUP BY ${value}: there are ${items.length} columns`);
    return item;
  }
}

const whole = (value: number): Tree => ({
  class: "CONSTANT",
  type: "VALUE_CONSTANT",
  alias: "",
  value: { type: { id: "BIGINT", type_info: null }, is_null: false, value },
});

const operator = (name: string, ...children: readonly Tree[]): Tree => ({
  ...{
    class: "FUNCTION",
    type: "FUNCTION",
    alias: "",
    function_name: name,
    schema: "",
    children,
    filter: null,
  },
  order_bys: { type: "ORDER_MODIFIER", orders: [] },
  distinct: false,
  is_operator: true,
  export_state: false,
  catalog: "",
});
