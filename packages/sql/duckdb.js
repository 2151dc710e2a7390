// A bundle of Leasefold finds DuckDB here where the package manager is strict about dependencies.
export * from "@duckdb/node-api";
