/** A process that answers queries of local files by `sql` or by DuckDB alone, so that neither has the memory of the other. */
import { join } from "node:path";
import { sql } from "../../packages/sql/sql.ts";
import { openDuckdb } from "../support/duckdb.ts";
import { folderFiles } from "./folderFiles.ts";
import { serialRun } from "./serialRun.ts";

export interface Question {
  readonly by: "sql" | "duckdb";
  readonly folder: string;
  readonly file: string;
  readonly query: string;
}

export interface Answer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Of the whole process: DuckDB's thread and the reading of files count too. */
  readonly cpuS: number;
}

/** Stays open, as the session of a thread does. */
const duck = await openDuckdb();

process.on("message", async ({ by, folder, file, query }: Question) => {
  const before = process.cpuUsage();
  const rows =
    by === "duckdb"
      ? await duck.rows(`with data as (from '${join(folder, file)}') ${query}`)
      : rowsOf((await serialRun(sql, { source: `bench/${file}`, query }, folderFiles(folder))).result.body);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ rows, cpuS: (user + system) / 1e6 } satisfies Answer);
});

const rowsOf = (body: Uint8Array): Answer["rows"] => JSON.parse(Buffer.from(body).toString());
