import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "../../../src/calculations/sql.ts";
import { duckdb } from "../../support/duckdb.ts";
import { lineitemCsv } from "../../support/lineitem.ts";
import { folderFiles } from "./folderFiles.ts";
import { type CalculationBench, cpuGoal } from "./measure.ts";
import { serialRun } from "./serialRun.ts";
import { formats, pricing, queries, writeTables } from "./sqlQueries.ts";

/** Queries over CSV, NDJSON and Parquet, beside DuckDB on one thread, which reads the same files; ratios are of CPU. */
export const sqlBench: CalculationBench = {
  name: "sql",
  unit: "bytes",
  async measure({ quick, say }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    try {
      await writeTables(folder, quick ? 40_000 : 3_000_000);
      const figures: Record<string, number> = {};
      for (const [name, { table, query }] of Object.entries(queries))
        for (const format of formats) {
          const path = join(folder, `${table}.${format}`);
          const theirs = () => duckdb(`with data as (from '${path}') ${query}`);
          const ours = () =>
            serialRun(sql, { source: `bench/${table}.${format}`, query }, folderFiles(folder));
          // The speed of a shared machine changes while it is measured.
          const [before, { seconds, value }, after] = [
            await cpuOf(theirs),
            await cpuOf(ours),
            await cpuOf(theirs),
          ];
          compareRows(JSON.parse(Buffer.from(value.result.body).toString()) as Row[], after.value);
          const other = (before.seconds + after.seconds) / 2;
          const key = `${name}-${format}`;
          figures[`ratio-to-duckdb-${key}`] = seconds / other;
          figures[`seconds-${key}`] = seconds;
          say(`${key}: ${seconds.toFixed(2)} s of CPU, DuckDB ${other.toFixed(2)} s`);
          if (key === "q1-csv") figures["perS"] = (await stat(path)).size / value.seconds;
        }
      return figures;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  goals: [
    ...formats.map((format) => ({
      goal: `every query over ${format} takes at most 1.3 × the CPU of DuckDB on one thread`,
      met: (figures: Readonly<Record<string, number>>) =>
        Object.keys(queries).every((name) => (figures[`ratio-to-duckdb-${name}-${format}`] ?? 9) <= 1.3),
    })),
    {
      goal: "an instance at work on a gigabyte holds at most 512 MB",
      met: ({ peakBytes = Number.NaN }) => peakBytes <= 512e6,
    },
    {
      goal: "a gigabyte on two instances at least 1.5 × as fast as in one thread, without the emulator's CPU of both cores",
      met: ({ oneS = Number.NaN, twoS = Number.NaN, azuriteCpuS = 0 }) =>
        oneS / (twoS - azuriteCpuS / 2) >= 1.5,
    },
    cpuGoal("sql"),
  ],
  // A gigabyte in eight files, or 300 MB.
  whole: (quick) => ({
    params: { source: "bench/lineitem/", query: pricing },
    async fill(upload) {
      for (let file = 1; file <= 8; file++) {
        const lines = lineitemCsv(quick ? 260_000 : 860_000, file);
        await upload(`bench/lineitem/${file}.csv`, bytesOf(lines));
      }
    },
  }),
};

/** CPU of this process while `work` runs: that of DuckDB's thread and of reading files too. */
async function cpuOf<T>(work: () => Promise<T>): Promise<{ readonly seconds: number; readonly value: T }> {
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (user + system) / 1e6, value };
}

type Row = Readonly<Record<string, unknown>>;

/** To 10^-9: both add doubles, in another order. */
function compareRows(ours: readonly Row[], theirs: readonly Row[]): void {
  if (ours.length !== theirs.length) throw new Error(`DuckDB has ${theirs.length} groups`);
  for (const [at, row] of theirs.entries())
    for (const [name, truth] of Object.entries(row)) {
      const answer = ours[at]?.[name];
      const near =
        typeof truth === "number" ? Math.abs(Number(answer) - truth) <= truth * 1e-9 : answer === truth;
      if (!near) throw new Error(`DuckDB says ${truth}, sql ${answer}`);
    }
}

async function* bytesOf(pieces: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}
