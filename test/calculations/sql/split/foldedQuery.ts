import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type SplitQuery, splitQuery } from "../../../../src/calculations/sql/split/splitQuery.ts";

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

export async function foldSplit(
  split: SplitQuery,
  { connection, chunks }: World,
  reduces = true,
): Promise<Rows> {
  let partials: string[] = [];
  let made = 0;
  const make = async (sql: string): Promise<string> => {
    made += 1;
    await connection.run(`create or replace temp table made${made} as ${sql}`);
    return `made${made}`;
  };
  const gather = (tables: readonly string[]): Promise<unknown> =>
    connection.run(
      `create or replace temp view parts as ${tables.map((name) => `from ${name}`).join(" union all ")}`,
    );
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    await connection.run(
      `create or replace temp view data as select * exclude (chunk) from whole where chunk = ${chunk}`,
    );
    partials.push(await make(split.map));
  }
  while (reduces && partials.length > 1) {
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
