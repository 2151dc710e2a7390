import { isTree, type Tree, textOf, treesOf } from "./syntax.ts";

/**
 * The columns of data that queries may read. Without the list of all `columns` it may name some that data does not have,
 * such as those of other tables.
 */
export function readColumns(
  queries: readonly Tree[],
  tables: readonly string[],
  columns: readonly string[] | undefined,
): readonly string[] | "all" {
  const found = new Map<string, string>();
  const sources = new Set(["data", ...tables.map((name) => name.toLowerCase())]);
  for (const tree of treesOf(queries))
    if (isTree(tree) && "sample" in tree) sources.add(textOf(tree["alias"]).toLowerCase());
  for (const tree of treesOf(queries)) {
    // `*`, and a name of a table as a value, are all of its columns.
    if (tree["class"] === "STAR" || tree["ref_type"] === "NATURAL") return "all";
    const names = [tree["column_names"], tree["using_columns"]]
      .flat()
      .filter((name) => typeof name === "string");
    if (tree["class"] === "COLUMN_REF" && names.length === 1 && sources.has(`${names[0]}`.toLowerCase()))
      return "all";
    for (const name of names) found.set(name.toLowerCase(), name);
  }
  return columns === undefined
    ? [...found.values()].filter((name) => !sources.has(name.toLowerCase()))
    : columns.filter((name) => found.has(name.toLowerCase()));
}
