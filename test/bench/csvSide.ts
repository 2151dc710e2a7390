import { isUtf8 } from "node:buffer";
import { csvParseRows } from "d3-dsv";
import { Cells } from "../../src/calculations/aggregate/cells/cells.ts";
import { queryOf } from "../../src/calculations/aggregate/query.ts";
import type { Field } from "../../src/calculations/aggregate/records.ts";
import { foldRange } from "../../src/calculations/aggregate/rows/foldRange.ts";
import { withHeldNumbers } from "../../src/calculations/aggregate/wholeNumbers.ts";
import { writeResult } from "../../src/calculations/aggregate/writeResult.ts";
import { aggregate } from "../../src/calculations/aggregate.ts";
import { duckdb } from "../calculations/aggregate/duckdb.ts";
import { lineitemQuery, type Row, sqlOf } from "./calculations/aggregate.ts";
import { folderFiles } from "./calculations/folderFiles.ts";
import { jsonOf, serialRun } from "./calculations/serialRun.ts";

/** One side of the bench `csv`, in a process of its own: answers each message with the query's rows and the CPU that they took. */
export type CsvSide =
  | "csv"
  | "csv by d3-dsv"
  | "csv by DuckDB"
  | "ndjson"
  | "ndjson by JSON.parse"
  | "ndjson by DuckDB";

export interface CsvAnswer {
  readonly rows: Row[];
  readonly cpuS: number;
}

const [side, folder = ""] = process.argv.slice(2) as [CsvSide, string];
const files = folderFiles(folder);

const answers: Readonly<Record<CsvSide, () => Promise<Row[]>>> = {
  csv: () => ours("csv"),
  "csv by d3-dsv": () => byParser("csv", csvRecords()),
  "csv by DuckDB": () => theirs(`read_csv('${folder}/lineitem.csv')`),
  ndjson: () => ours("ndjson"),
  "ndjson by JSON.parse": () => byParser("ndjson", jsonRecords),
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

type Records = (text: string, wanted: readonly string[]) => readonly (readonly Field[])[];

/** As records were read before they were cut on bytes: a parser makes all fields of 64 KB, and the wanted ones are folded. */
async function byParser(kind: "csv" | "ndjson", recordsOf: Records): Promise<Row[]> {
  const query = queryOf(lineitemQuery);
  const folding = foldRange(query, "fail", kind);
  const cells = new Cells(query.wanted.length);
  const lineFeed = Buffer.from("\n");
  let records = 0;
  let held = Buffer.alloc(0);
  const fold = (batch: Buffer): void => {
    if (!isUtf8(batch)) throw new Error(`${kind} is not UTF-8`);
    const text = batch.toString();
    cells.begin(lineFeed, 0);
    for (const fields of recordsOf(text, query.wanted)) {
      const first = cells.open(0);
      for (const [place, field] of fields.entries()) cells.putValue(first + place, field);
      cells.rows += 1;
    }
    records += cells.rows;
    folding.add(cells);
  };
  for await (const file of files.list(`bench/lineitem.${kind}`)) {
    for await (const piece of files.read(file)) {
      const bytes = Buffer.concat([held, piece]);
      let from = 0;
      for (let to = bytes.indexOf(lineFeed, 65_536); to !== -1; to = bytes.indexOf(lineFeed, from + 65_536)) {
        fold(bytes.subarray(from, to + 1));
        from = to + 1;
      }
      held = bytes.subarray(from);
    }
  }
  if (held.length > 0) fold(held);
  const partial = folding.done({ records, bytes: 0, skipped: 0, offenders: [], absent: [] });
  return jsonOf(writeResult(query, partial, "json"))["rows"] as Row[];
}

/** Of a file whose first record names the columns. */
function csvRecords(): Records {
  let places: number[] | undefined;
  return (text, wanted) => {
    const records = csvParseRows(text);
    if (places === undefined) {
      const header = records.shift() ?? [];
      places = wanted.map((name) => header.indexOf(name));
    }
    const asked = places;
    return records.map((record) => asked.map((place) => record[place] || null));
  };
}

const jsonRecords: Records = (text, wanted) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const parsed = JSON.parse(line) as Record<string, Field>;
      const held = withHeldNumbers(line);
      const record = held === line ? parsed : (JSON.parse(held) as Record<string, Field>);
      return wanted.map((name) => record[name] ?? null);
    });
