import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type SplitQuery, splitQuery } from "../../split/splitQuery.ts";

/** One DuckDB with the tables `whole`, which is cut into chunks by the column `chunk`, and `rates`. */
export interface World {
  readonly connection: DuckDBConnection;
  readonly chunks: number;
  readonly columns: readonly string[];
}

export type Rows = readonly (readonly unknown[])[];

/** Makes a world of `whole`, a query with the rows of data, and a column `chunk`. */
export async function worldOf(whole: string, rates: string): Promise<World> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  await connection.run(`create table whole as ${whole}; create table rates as ${rates}`);
  const names = await connection.runAndReadAll("select column_name from (describe whole)");
  const columns = names.getRowsJson().map(([name]) => String(name));
  const [[chunks] = []] = (await connection.runAndReadAll("select max(chunk) + 1 from whole")).getRowsJson();
  return { connection, chunks: Number(chunks), columns: columns.filter((name) => name !== "chunk") };
}

/** The answer of DuckDB to a query over the whole table. */
export async function wholeAnswer(query: string, { connection }: World): Promise<Rows> {
  await connection.run("create or replace temp view data as select * exclude (chunk) from whole");
  return rowsOf(connection, query);
}

/** The answer of the steps of a query: a partial of each chunk, neighbors merged in pairs, and the finish. */
export async function foldedAnswer(query: string, world: World): Promise<{ rows: Rows; split: SplitQuery }> {
  const split = await splitQuery(query, { tables: ["rates"], columns: world.columns });
  return { rows: await foldSplit(split, world), split };
}

/** With `isOne` all rows are one chunk, so that nothing is merged. */
export async function foldSplit(
  split: SplitQuery,
  { connection, chunks }: World,
  isOne = false,
): Promise<Rows> {
  let partials: string[] = [];
  let made = 0;
  const make = async (sql: string): Promise<string> => {
    made += 1;
    await connection.run(`create or replace temp table made${made} as ${sql}`);
    return `made${made}`;
  };
  const gather = async ([first, ...more]: readonly string[]): Promise<void> => {
    await connection.run(`create or replace temp table parts as from ${first}`);
    for (const name of more) await connection.run(`insert into parts from ${name}`);
  };
  for (let chunk = 0; chunk < (isOne ? 1 : chunks); chunk += 1) {
    await connection.run(
      `create or replace temp view data as select * exclude (chunk) from whole where ${isOne} or chunk = ${chunk}`,
    );
    partials.push(await make(split.map));
  }
  while (partials.length > 1) {
    const next: string[] = [];
    for (let at = 0; at < partials.length; at += 2) {
      const pair = partials.slice(at, at + 2);
      await gather(pair);
      next.push(pair.length === 1 ? `${pair[0]}` : await make(split.reduce));
    }
    partials = next;
  }
  await gather(partials);
  return rowsOf(connection, split.finish);
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
