import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { splitQuery } from "../../split/splitQuery.ts";
import type { Column, Cut, SplitQuery } from "../../split/splitSteps.ts";

/** One DuckDB with the tables `whole`, which is cut into chunks by the column `chunk`, and `rates`. */
export interface World {
  readonly connection: DuckDBConnection;
  readonly chunks: number;
  readonly columns: readonly Column[];
  readonly rates: readonly Column[];
}

export type Rows = readonly (readonly unknown[])[];

/** Makes a world of `whole`, a query with the rows of data, and a column `chunk`. */
export async function worldOf(whole: string, rates: string, chunks: number): Promise<World> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  await connection.run("set timezone = 'UTC'");
  await connection.run(`create table whole as ${whole}; create table rates as ${rates}`);
  await connection.run("create table data as select * exclude (chunk) from whole");
  const columnsOf = async (table: string): Promise<Column[]> =>
    (await connection.runAndReadAll(`select column_name, column_type from (describe ${table})`))
      .getRowsJson()
      .map(([name, type]) => [String(name), String(type)] as const);
  return { connection, chunks, columns: await columnsOf("data"), rates: await columnsOf("rates") };
}

/** The answer of DuckDB to a query over the whole table. */
export async function wholeAnswer(query: string, { connection }: World): Promise<Rows> {
  await connection.run(
    "create or replace table data as select * exclude (chunk) from whole order by chunk, rowid",
  );
  return rowsOf(connection, query);
}

/**
 * The same, with every column of every row computed: DuckDB leaves out columns that nothing needs, and rows beyond a limit, and meets
 * no error in them.
 */
export async function unprunedAnswer(query: string, world: World): Promise<Rows> {
  await world.connection.run("set disabled_optimizers = 'unused_columns,late_materialization'");
  return wholeAnswer(query, world).finally(() => world.connection.run("reset disabled_optimizers"));
}

/** The answer of the steps of a query: a partial of each chunk, neighbors merged in pairs, and the finish. */
export async function foldedAnswer(query: string, world: World): Promise<{ rows: Rows; split: SplitQuery }> {
  const split = await splitQuery(query, { columns: world.columns, tables: { rates: world.rates } });
  return { rows: await foldSplit(split, world), split };
}

/** With `isOne` all rows are one chunk, so that nothing is merged. */
export async function foldSplit(split: SplitQuery, world: World, isOne = false): Promise<Rows> {
  const { connection } = world;
  await connection.run("begin");
  try {
    const parts = await chunkParts(split, world, isOne);
    const answers: string[] = [];
    for (const [index, cut] of split.cuts.entries()) {
      await gather(parts[index] ?? [], connection);
      await connection.run(`create or replace temp table own${index} as ${cut.answer}`);
      answers.push(`drop table if exists ${cut.name}; create table ${cut.name} as from own${index}`);
    }
    for (const answer of answers) await connection.run(answer);
    return await rowsOf(connection, split.finish);
  } finally {
    await connection.run("rollback");
  }
}

/** The merged partials of each cut. */
async function chunkParts(
  split: SplitQuery,
  { connection, chunks }: World,
  isOne: boolean,
): Promise<string[][]> {
  const parts: string[][] = split.cuts.map(() => []);
  let made = 0;
  const make = async (sql: string): Promise<string> => {
    made += 1;
    await connection.run(`create temp table made${made} as ${sql}`);
    return `made${made}`;
  };
  // As in a chunk, columns that it does not read are there and NULL.
  const reads = new Set(split.reads);
  const list = (columns: readonly Column[]): string =>
    columns
      .map(
        ([name, type]) =>
          `${reads.has(name) ? `"${name.replaceAll('"', '""')}"` : `cast(null as ${type})`} as "${name.replaceAll('"', '""')}"`,
      )
      .join(", ");
  const columns = (await connection.runAndReadAll("select column_name, column_type from (describe data)"))
    .getRowsJson()
    .map(([name, type]) => [String(name), String(type)] as const);
  for (let chunk = 0; chunk < (isOne ? 1 : chunks); chunk += 1) {
    await connection.run("drop table if exists data");
    await connection.run(
      `create table data as select ${list(columns)} from whole where ${isOne} or chunk = ${chunk} order by chunk, rowid`,
    );
    for (const [index, cut] of split.cuts.entries()) parts[index]?.push(await make(cut.chunk));
  }
  for (const [index, cut] of split.cuts.entries())
    parts[index] = await folded(parts[index] ?? [], cut, make, connection);
  return parts;
}

async function folded(
  parts: readonly string[],
  { merge, isTable }: Cut,
  make: (sql: string) => Promise<string>,
  connection: DuckDBConnection,
): Promise<string[]> {
  if (isTable) return parts.slice(0, 1);
  if (merge === undefined) return [...parts];
  let all = [...parts];
  while (all.length > 1) {
    const next: string[] = [];
    for (let at = 0; at < all.length; at += 2) {
      const pair = all.slice(at, at + 2);
      await gather(pair, connection);
      next.push(pair.length === 1 ? `${pair[0]}` : await make(merge));
    }
    all = next;
  }
  return all;
}

async function gather([first, ...more]: readonly string[], connection: DuckDBConnection): Promise<void> {
  await connection.run(`create or replace temp table parts as from ${first}`);
  for (const name of more) await connection.run(`insert into parts from ${name}`);
}

async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Rows> {
  const reader = await connection.runAndReadAll(sql);
  return [reader.columnNames(), reader.columnTypes().map(String), ...reader.getRowsJson()];
}

/** 200 rows of trips in five chunks, one of them of each type that matters, with NULLs; and three rates. */
export const trips = (): Promise<World> =>
  worldOf(
    `select (i * 7) % 5 as chunk, i::bigint as id, case when i % 11 = 0 then null else 'z' || (i * 13 % 4) end as zone,
      timestamp '2024-01-01' + to_days((i * 37 % 300)::int) as pickup, (i * 17 % 100) / 4.0::double as total,
      ((i * 31 % 1000) / 100)::decimal(18, 2) as price, i % 3 = 0 as flag,
      case when i % 5 = 0 then null else i * i % 50 end as n, ['a' || i % 2, 'b'] as tags,
      {'k': i % 3, 's': {'t': 'q' || i % 2}} as j
      from range(200) t(i) order by all`,
    "select 'z' || r as zone, r * 1.5 as rate, 'name' || r as name from range(3) t(r)",
    5,
  );

/** Whether two answers are equal: doubles to 10^-11 relative, all else exactly. */
export function sameRows(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number")
    return a === b || Math.abs(a - b) <= 1e-11 * Math.max(Math.abs(a), Math.abs(b), 1e-3);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => sameRows(one, b[index]));
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  const [left, right] = [Object.entries(a), Object.entries(b)];
  return (
    left.length === right.length &&
    left.every(([name, one]) => sameRows(one, (b as Record<string, unknown>)[name]))
  );
}
