import { identifier } from "../duck/session.ts";
import { neededColumns } from "./needs.ts";
import type { Plan } from "./plan.ts";
import { scanConditions } from "./scans.ts";
import type { Column, Schema, SplitQuery } from "./splitSteps.ts";
import { nameOf, refused, type Tree, treesOf } from "./syntax.ts";

interface Gathered {
  readonly root: Tree;
  /** Absent where DuckDB gives none: then all columns are needed. */
  readonly plan?: Plan;
  readonly why: string;
}

/**
 * The steps of a query that runs as it stands over gathered rows: chunks keep the columns that a scan needs and the rows
 * that pass a plain condition on it. The table has all columns, since a query may name them without needing them.
 */
export function gathered(
  query: string,
  { columns, tables }: Schema,
  { root, plan, why }: Gathered,
): Omit<SplitQuery, "namesAll" | "fields"> {
  const names = new Set(columns.map(([name]) => name.toLowerCase()));
  if (
    !names.has("rowid") &&
    [...treesOf(root)].some((one) => one["class"] === "COLUMN_REF" && nameOf(one) === "rowid")
  )
    throw refused("rowid is no column of files");
  const needed = plan === undefined ? undefined : neededColumns(plan, "all");
  const kept = columns.filter(([name]) => needed?.has(name) ?? true);
  const scans =
    plan === undefined ? [] : scanConditions(plan).map((one) => one.filter(({ isPlain }) => isPlain));
  const where = scans.map((conditions) => conditions.map(({ text }) => text).join(" AND "));
  const filter =
    where.length > 0 && where.every((text) => text !== "") ? ` WHERE (${where.join(") OR (")})` : "";
  const list = kept.map(([name], index) => `${identifier(name)} AS c${index}`);
  const places = new Map(kept.map(([name], index) => [name, `c${index}`]));
  const all = columns.map(
    ([name, type]) => `${places.get(name) ?? `CAST(NULL AS ${type})`} AS ${identifier(name)}`,
  );
  const carried = kept.map(([, type], index): Column => [`c${index}`, type]);
  const ofTables = Object.entries(tables).map(([name, own]) => ({
    chunk: `SELECT ${own.map(([column], index) => `${identifier(column)} AS c${index}`).join(", ")} FROM ${identifier(name)}`,
    columns: own.map(([, type], index): Column => [`c${index}`, type]),
    isTable: true,
    answer: `SELECT ${own.map(([column], index) => `c${index} AS ${identifier(column)}`).join(", ")} FROM parts`,
    name,
  }));
  return {
    way: "gather",
    why,
    cuts: [
      {
        chunk: `SELECT ${list.length > 0 ? list.join(", ") : "NULL AS nothing"} FROM data${filter}`,
        columns: carried.length > 0 ? carried : [["nothing", "INTEGER"]],
        answer: `SELECT ${all.join(", ")} FROM parts`,
        name: "data",
        carries: `columns ${kept.map(([name]) => name).join(", ")}, which the query needs whole`,
      },
      ...ofTables,
    ],
    finish: query.replace(/[;\s]+$/, ""),
    reads: kept.map(([name]) => name),
    scans,
  };
}
