import { DuckDBInstance } from "@duckdb/node-api";

/** What DuckDB, on one thread, answers to a query: rows of plain values, whole numbers and decimals as numbers. */
export async function duckdb(query: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  try {
    const result = await connection.runAndReadAll(query);
    return result.getRowObjectsJson().map((row) => Object.fromEntries(Object.entries(row).map(plain)));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const plain = ([name, value]: [string, unknown]): [string, unknown] => [
  name,
  typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
];
