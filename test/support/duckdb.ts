import { DuckDBInstance } from "@duckdb/node-api";

type Rows = Record<string, unknown>[];

/** What DuckDB, on one thread, answers to a query: rows of plain values, whole numbers and decimals as numbers. */
export async function duckdb(query: string): Promise<Rows> {
  const { rows, close } = await openDuckdb();
  return rows(query).finally(close);
}

/** The same for several queries. */
export async function openDuckdb(): Promise<{ rows(query: string): Promise<Rows>; close(): void }> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  return {
    async rows(query) {
      const result = await connection.runAndReadAll(query);
      return result.getRowObjectsJson().map((row) => Object.fromEntries(Object.entries(row).map(plain)));
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

const plain = ([name, value]: [string, unknown]): [string, unknown] => [
  name,
  typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
];
