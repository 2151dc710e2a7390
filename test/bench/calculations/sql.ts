import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { aggregate } from "../../../src/calculations/aggregate.ts";
import { duckdb } from "../../calculations/aggregate/duckdb.ts";
import { lineitemCsv } from "../../support/lineitem.ts";
import { folderFiles } from "./folderFiles.ts";
import { type CalculationBench, cpuGoal } from "./measure.ts";
import { jsonOf, serialRun } from "./serialRun.ts";

/** Query 1 of TPC-H over a gigabyte of order lines as CSV, beside DuckDB on one thread, which reads the same file. */
export const aggregateBench: CalculationBench = {
  name: "aggregate",
  unit: "bytes",
  async measure({ quick, say }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-aggregate-"));
    try {
      const path = join(folder, "lineitem.csv");
      await pipeline(Readable.from(lineitemCsv(quick ? 60_000 : 6_700_000)), createWriteStream(path));
      const { size } = await stat(path);
      const files = folderFiles(folder);
      // With quoted newlines the plan reads parts of the file too.
      const both = await serialRun(aggregate, { source: "bench/", ...lineitemQuery }, files);
      const { seconds, result } = await serialRun(
        aggregate,
        { source: "bench/", ...lineitemQuery, quotedNewlines: false },
        files,
      );
      if (!Buffer.from(both.result.body).equals(result.body))
        throw new Error("the two plans give two results");
      // Before DuckDB takes some.
      const peakBytes = process.resourceUsage().maxRSS * 1024;
      const startedMs = performance.now();
      const truth = await duckdb(sqlOf(`read_csv('${path}')`));
      const other = (performance.now() - startedMs) / 1000;
      compareRows(jsonOf(result)["rows"] as Row[], truth);
      say(
        `of ${size} bytes; ${(size / both.seconds / 1e6).toFixed(0)} MB/s with quoted newlines searched for`,
      );
      return {
        perS: size / seconds,
        seconds,
        "quoted-newlines-seconds": both.seconds,
        "peak-bytes": peakBytes,
        "duckdb-seconds": other,
        "ratio-to-duckdb": seconds / other,
      };
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  goals: [
    { goal: "aggregate reads at least 60 MB of CSV a second", met: ({ perS = 0 }) => perS >= 60e6 },
    {
      goal: "an instance at work on a gigabyte holds at most 256 MB",
      met: ({ peakBytes = Number.NaN }) => peakBytes <= 256e6,
    },
    {
      goal: "a gigabyte on two instances at least 1.5 × as fast as in one thread, without the emulator's CPU of both cores",
      met: ({ oneS = Number.NaN, twoS = Number.NaN, azuriteCpuS = 0 }) =>
        oneS / (twoS - azuriteCpuS / 2) >= 1.5,
    },
    cpuGoal("aggregate"),
  ],
  // A gigabyte in eight files, or 300 MB.
  whole: (quick) => ({
    params: { source: "bench/lineitem/", ...lineitemQuery, quotedNewlines: false },
    async fill(upload) {
      for (let file = 1; file <= 8; file++) {
        const lines = lineitemCsv(quick ? 260_000 : 860_000, file);
        await upload(`bench/lineitem/${file}.csv`, bytesOf(lines));
      }
    },
  }),
};

/** Query 1 of TPC-H. */
export const lineitemQuery = {
  by: "returnflag,linestatus",
  where: "shipdate <= '1998-09-02'",
  aggregates:
    "sum(quantity),sum(extendedprice),sum(disc_price),sum(charge),mean(quantity),mean(extendedprice)," +
    "mean(discount),count,p50(extendedprice),distinct(partkey)",
};

/** The same, exactly where ours is approximate. */
export const sqlOf = (table: string): string => `
  select returnflag, linestatus, sum(quantity), sum(extendedprice), sum(disc_price), sum(charge), avg(quantity),
    avg(extendedprice), avg(discount), count(*), quantile_disc(extendedprice, 0.5), count(distinct partkey)
  from ${table} where shipdate <= date '1998-09-02' group by all order by all`;

export type Row = Readonly<Record<string, unknown>>;

/** To 10^-9; the median to 1/128 and the number of parts to three times 1.6 %, as promised. */
export function compareRows(ours: readonly Row[], theirs: readonly Row[]): void {
  const bounds = [...Array<number>(10).fill(1e-9), 1 / 128, 3 * 0.01625];
  for (const [at, row] of theirs.entries()) {
    const answers = Object.values(ours[at] ?? {});
    for (const [place, truth] of Object.values(row).entries()) {
      const answer = answers[place];
      const near =
        typeof truth === "number"
          ? Math.abs(Number(answer) - truth) <= truth * (bounds[place] as number)
          : answer === truth;
      if (!near) throw new Error(`DuckDB says ${truth}, aggregate ${answer}`);
    }
  }
  if (ours.length !== theirs.length) throw new Error(`DuckDB has ${theirs.length} groups`);
}

async function* bytesOf(pieces: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}
