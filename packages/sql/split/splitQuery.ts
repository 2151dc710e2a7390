import { checkQuery } from "./checkQuery.ts";
import { type Core, cutQuery, isGrouped } from "./cutQuery.ts";
import { splitGroups } from "./splitGroups.ts";
import { splitRows } from "./splitRows.ts";
import {
  emptyQuery,
  type Functions,
  knownFunctions,
  listOf,
  parseQuery,
  printQuery,
  refused,
  replaced,
  type Tree,
  textOf,
  treesOf,
} from "./syntax.ts";

/** A query as statements that compute it in steps. */
export interface SplitQuery {
  /** Over `data`, the rows of one chunk, and the broadcast tables. */
  readonly map: string;
  /** Over `parts`, the rows of any number of neighboring partials in order; it gives rows of the same columns. */
  readonly reduce: string;
  /** Over `parts`, the rows of one partial: those of the answer. */
  readonly finish: string;
  /** The answer is the rows of `map`, chunk after chunk. */
  readonly isRows: boolean;
}

export interface Given {
  /** The names of broadcast tables. */
  readonly tables: readonly string[];
  /** The columns of `data`: with them, a name that is a column and an alias is read as DuckDB does. */
  readonly columns?: readonly string[];
}

/**
 * Splits a query over `data` into steps. Not promised: that its columns exist and its types fit, which the first chunk
 * shows. Throws `InputError` with the reason if the query does not decompose.
 */
export async function splitQuery(query: string, { tables, columns }: Given): Promise<SplitQuery> {
  const functions = await knownFunctions();
  const root = await parseQuery(query);
  checkQuery(root, ["data", ...tables], functions, columns);
  const empty = await emptyQuery();
  const { rest, cores } = cutQuery(root, functions, (index) => ({ ...empty, core: index }));
  if (cores.length === 0) throw refused("it reads nothing of data");
  const split = await Promise.all(
    cores.map((core) =>
      isGrouped(core.node, functions) ? splitGroups(core, functions, columns) : splitRows(core),
    ),
  );
  const maps = cores.map((core, index) => withEntries(split[index]?.map ?? {}, core));
  const isOne = cores.length === 1;
  const taken = [...treesOf(root)].map((tree) => textOf(tree["key"]).toLowerCase());
  const free = taken.some((name) => name.startsWith("merged")) ? "leasefold_merged" : "merged";
  const merged = cores.map((_core, index) => (isOne ? free : `${free}${index}`));
  const answers = await Promise.all(split.map(({ finish }, index) => finish(merged[index] ?? "")));
  const answer = replaced(rest, (tree) => {
    const done = typeof tree["core"] === "number" ? answers[tree["core"]] : undefined;
    return done === undefined ? undefined : { ...done };
  });
  refuseTables(answer, tables);
  const reduces = await Promise.all(split.map(({ reduce }) => reduce(isOne ? "parts" : "own")));
  const own = (index: number): string => `select * exclude (${tag}) from parts where ${tag} = ${index}`;
  const reduced = (index: number): string =>
    isOne ? `${reduces[index]}` : `with own as (${own(index)}) ${reduces[index]}`;
  const ctes = merged.map((name, index) => `${name} as (${isOne ? "from parts" : own(index)})`).join(", ");
  const printed = await printQuery(answer);
  const steps = {
    map: tagged(await Promise.all(maps.map(printQuery))),
    reduce: tagged(reduces.map((_reduce, index) => reduced(index))),
    isRows: rest["core"] === 0 && cores.every(({ node }) => isPlain(node, functions)),
    finish: printed.startsWith("WITH ") ? `with ${ctes}, ${printed.slice(5)}` : `with ${ctes} ${printed}`,
  };
  await checkPrinted(steps.map, ["data", ...tables], columns);
  await checkPrinted(steps.reduce, ["parts"]);
  await checkPrinted(steps.finish, ["parts"]);
  return steps;
}

const isPlain = (node: Tree, functions: Functions): boolean =>
  !isGrouped(node, functions) && listOf(node["modifiers"]).length === 0;

/** Checks the text that runs, since neither the steps nor DuckDB's printing may give a query another meaning. */
async function checkPrinted(text: string, tables: readonly string[], columns: readonly string[] = []) {
  checkQuery(await parseQuery(text), tables, await knownFunctions(), columns);
}

const tag = "leasefold_core";

/** Several statements as one, whose column `tag` says of which each row is. */
const tagged = (statements: readonly string[]): string =>
  statements.length === 1
    ? `${statements[0]}`
    : statements
        .map((one, index) => `select ${index} as ${tag}, * from (${one})`)
        .join(" union all by name ");

/** A map with the common table expressions that it reads. */
function withEntries(map: Tree, { entries }: Core): Tree {
  const namesIn = (tree: Tree): string[] =>
    [...treesOf(tree)].map((one) => textOf(one["table_name"]).toLowerCase()).filter((name) => name !== "");
  const wanted = new Set(namesIn(map));
  const needed: Tree[] = [];
  for (const entry of entries.toReversed()) {
    if (!wanted.has(textOf(entry["key"]).toLowerCase())) continue;
    needed.unshift(entry);
    for (const name of namesIn(entry)) wanted.add(name);
  }
  return { ...map, cte_map: { map: needed } };
}

/** The last step has the answers of all chunks and no files. */
function refuseTables(answer: Tree, tables: readonly string[]): void {
  const names = new Set(tables.map((name) => name.toLowerCase()));
  for (const tree of treesOf(answer)) {
    const name = textOf(tree["table_name"]).toLowerCase();
    if (tree["type"] !== "BASE_TABLE") continue;
    if (names.has(name))
      throw refused(
        `table ${name} is joined with an answer over all rows`,
        "Join it with data before grouping",
      );
  }
}
