import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { sql } from "../../../src/calculations/sql.ts";
import { duckdb } from "../../support/duckdb.ts";
import { lineitemCsv } from "../../support/lineitem.ts";
import { folderFiles } from "./folderFiles.ts";
import { type CalculationBench, cpuGoal } from "./measure.ts";
import { serialRun } from "./serialRun.ts";

/** Query 1 of TPC-H over a gigabyte of order lines as CSV, beside DuckDB on one thread, which reads the same file. */
export const sqlBench: CalculationBench = {
  name: "sql",
  unit: "bytes",
  async measure({ quick }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    try {
      const path = join(folder, "lineitem.csv");
      await pipeline(Readable.from(lineitemCsv(quick ? 60_000 : 6_700_000)), createWriteStream(path));
      const { size } = await stat(path);
      const { seconds, result } = await serialRun(
        sql,
        { source: "bench/", query: pricing },
        folderFiles(folder),
      );
      // Before DuckDB takes some more.
      const peakBytes = process.resourceUsage().maxRSS * 1024;
      const startedMs = performance.now();
      const truth = await duckdb(`with data as (from read_csv('${path}')) ${pricing}`);
      const other = (performance.now() - startedMs) / 1000;
      compareRows(JSON.parse(Buffer.from(result.body).toString()) as Row[], truth);
      return {
        perS: size / seconds,
        seconds,
        "peak-bytes": peakBytes,
        "duckdb-seconds": other,
        "ratio-to-duckdb": seconds / other,
      };
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  goals: [
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

/** Query 1 of TPC-H. */
const pricing = `
  select returnflag, linestatus, sum(quantity) as quantity, sum(extendedprice) as price,
    sum(extendedprice * (1 - discount)) as discounted, sum(extendedprice * (1 - discount) * (1 + tax)) as charge,
    avg(quantity) as meanQuantity, avg(extendedprice) as meanPrice, avg(discount) as meanDiscount, count(*) as lines
  from data where shipdate <= date '1998-09-02' group by all order by all`;

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
