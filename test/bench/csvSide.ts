import { aggregate } from "../../src/calculations/aggregate.ts";
import { duckdb } from "../calculations/aggregate/duckdb.ts";
import { lineitemQuery, type Row, sqlOf } from "./calculations/aggregate.ts";
import { folderFiles } from "./calculations/folderFiles.ts";
import { jsonOf, serialRun } from "./calculations/serialRun.ts";
import { byCodeBefore } from "./csvBefore.ts";

/** One side of the bench `csv`, in a process of its own: answers each message with the query's rows and the CPU that they took. */
export type CsvSide =
  | "csv"
  | "csv before"
  | "csv by DuckDB"
  | "ndjson"
  | "ndjson before"
  | "ndjson by DuckDB";

export interface CsvAnswer {
  readonly rows: Row[];
  readonly cpuS: number;
}

const [side, folder = ""] = process.argv.slice(2) as [CsvSide, string];
const files = folderFiles(folder);

const answers: Readonly<Record<CsvSide, () => Promise<Row[]>>> = {
  csv: () => ours("csv"),
  "csv before": () => byCodeBefore("csv", files),
  "csv by DuckDB": () => theirs(`read_csv('${folder}/lineitem.csv')`),
  ndjson: () => ours("ndjson"),
  "ndjson before": () => byCodeBefore("ndjson", files),
  "ndjson by DuckDB": () => theirs(`read_json('${folder}/lineitem.ndjson')`),
};

process.on("message", async () => {
  const before = process.cpuUsage();
  const rows = await answers[side]();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ rows, cpuS: (user + system) / 1e6 } satisfies CsvAnswer);
});

async function ours(kind: "csv" | "ndjson"): Promise<Row[]> {
  const params = { source: `bench/lineitem.${kind}`, ...lineitemQuery, quotedNewlines: false };
  return jsonOf((await serialRun(aggregate, params, files)).result)["rows"] as Row[];
}

const theirs = (table: string): Promise<Row[]> => duckdb(sqlOf(table)) as Promise<Row[]>;
