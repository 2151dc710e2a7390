import { identifier, type Session, withSession } from "../duck/session.ts";
import { checkQuery } from "./checkQuery.ts";
import { cutGroups, cutRows, findCuts } from "./cuts.ts";
import { gathered } from "./gather.ts";
import { neededColumns, union, visitNeeds } from "./needs.ts";
import { expressionsIn, fieldsIn, NotWritten, notWritten, type Plan, planOf, scansData } from "./plan.ts";
import { normalText } from "./samePlan.ts";
import { scanConditions } from "./scans.ts";
import type { Column, Cut, Schema, SplitQuery } from "./splitSteps.ts";
import { type Functions, knownFunctions, parseQuery, refused, type Tree, textOf, treesOf } from "./syntax.ts";
import { isRowError } from "./writeExpression.ts";
import { widthOf, writeQuery } from "./writePlan.ts";

/**
 * Splits a query over `data` into steps. The statements are written from the plan that DuckDB binds, and each is bound
 * again: where its plan is not the same part of the query's, the query is computed over gathered rows, as it stands.
 * Throws `InputError` for a query that is not taken.
 */
export async function splitQuery(query: string, schema: Schema): Promise<SplitQuery> {
  const functions = await knownFunctions();
  const root = await parseQuery(query);
  const columns = schema.columns.map(([name]) => name);
  checkQuery(root, ["data", ...Object.keys(schema.tables)], functions, columns);
  return withSession(async (session) => {
    const all = { data: schema.columns, ...schema.tables };
    for (const [name, own] of Object.entries(all)) await makeTable(name, own, session);
    const names = await session.columns(query);
    const plan = await planOf(query, session).catch(unlessWritten);
    // Of a struct, `unnest` makes a column of each field.
    const unnests = [...treesOf(root)].some((one) => textOf(one["function_name"]) === "unnest");
    const keys = {
      namesAll: namesAllColumns(root),
      fields: unnests || plan === undefined ? undefined : fieldsIn(plan),
    };
    if (plan === undefined) return { ...gathered(query, schema, { root, why: "it has no plan" }), ...keys };
    checkPlan(plan, functions);
    if (!scansData(plan)) throw refused("it reads nothing of data");
    try {
      const split = await splitPlan(
        plan,
        names.map(([name]) => name),
        functions,
        session,
      );
      return { ...split, ...keys };
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      return { ...gathered(query, schema, { root, plan, why: error.message }), ...keys };
    }
  });
}

const unlessWritten = (error: unknown): undefined => {
  if (error instanceof NotWritten) return undefined;
  throw error;
};

/** A struct whose keys have no names: no table can have one. */
const unnamed = /\bSTRUCT\(([A-Z_\d]+[,)([]|TIME(STAMP)? WITH)/;

async function makeTable(name: string, columns: readonly Column[], session: Session): Promise<void> {
  const list = columns.map(([column, type]) => `${identifier(column)} ${type}`).join(", ");
  await session.run(`create temp table ${identifier(name)}(${list})`);
}

/** Whether a query says `*`, `COLUMNS(…)`, a whole row or a natural join, which mean the columns that there are. */
function namesAllColumns(root: Tree): boolean {
  const tables = new Set(["data"]);
  for (const one of treesOf(root))
    if (one["type"] === "BASE_TABLE") tables.add(textOf(one["alias"]).toLowerCase());
  return [...treesOf(root)].some((one) => {
    const names = one["column_names"];
    const isRow = Array.isArray(names) && names.length === 1 && tables.has(String(names[0]).toLowerCase());
    const kind = textOf(one["class"]);
    return isRow || kind === "STAR" || kind === "POSITIONAL_REFERENCE" || one["ref_type"] === "NATURAL";
  });
}

/** What binding has put in: a macro may call what a query must not. */
function checkPlan(plan: Plan, { volatile }: Functions): void {
  for (const one of expressionsIn(plan))
    if (volatile.has(one.name ?? "") && !isRowError(one))
      throw refused(`${one.name}() has another answer each time`, "Write the value itself");
}

/** Throws `NotWritten` where the statements are not sure to compute the query. */
async function splitPlan(
  plan: Plan,
  names: readonly string[],
  functions: Functions,
  session: Session,
): Promise<Omit<SplitQuery, "namesAll" | "fields">> {
  for (const one of expressionsIn(plan)) {
    const { expression_class: kind, name = "" } = one;
    const isKnown = functions.consistent.has(name) || name === "normalized_interval" || isRowError(one);
    if (kind === "BOUND_FUNCTION" && !isKnown) notWritten(`${name}()`);
  }
  const width = names.length;
  const text = writeQuery(plan, names);
  if (normalText(await planOf(text, session), width) !== normalText(plan, width))
    notWritten("its plan is another when it is bound again");
  const found = findCuts(plan);
  const needs = new Map<Plan, ReadonlySet<number>>();
  const nodes = new Set(found.map(({ node }) => node));
  visitNeeds(
    plan,
    "all",
    (node, wanted) => needs.set(node, union(wanted, needs.get(node) ?? new Set())),
    nodes,
  );
  const cuts: Cut[] = [];
  const standIns = new Map<Plan, { table: string; width: number }>();
  const reads = new Set<string>();
  for (const one of found) {
    const { node, steps } = one;
    const name = `answer${cuts.length}`;
    const wanted = needs.get(node) ?? new Set();
    const cut =
      steps === undefined
        ? await cutRows(one, wanted, name, session)
        : await cutGroups(node, steps, name, session);
    if (cut.columns.some(([, type]) => unnamed.test(type))) notWritten("a struct has no names");
    cuts.push(cut);
    standIns.set(node, { table: name, width: widthOf(node) });
    for (const column of neededColumns(node, steps === undefined ? wanted : "all")) reads.add(column);
    await session.run(`create temp table parts as from (${cut.chunk}) limit 0`);
    await session.run(`create temp table ${name} as from (${cut.answer}) limit 0`);
    await session.run("drop table parts");
  }
  const finish = writeQuery(plan, names, standIns);
  if (normalText(await planOf(finish, session), width) !== normalText(plan, width, standIns))
    notWritten("the plan above its chunks is another when it is bound again");
  const carried = cuts.flatMap(({ carries }) => carries ?? []);
  const [only, ...more] = found;
  return {
    way: carried.length > 0 ? ("rows" as const) : ("aggregate" as const),
    why: [...new Set(carried)].join(", "),
    cuts,
    finish,
    rows: only?.node === plan && more.length === 0 && only.steps === undefined ? text : undefined,
    reads: [...reads],
    scans: scanConditions(plan),
  };
}
