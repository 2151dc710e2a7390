import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "../../../src/calculations/sql.ts";
import { lineitemCsv } from "../../support/lineitem.ts";
import { pricing } from "../sqlQueries.ts";
import { folderFiles } from "./folderFiles.ts";
import { type CalculationBench, cpuGoal } from "./measure.ts";
import { serialRun } from "./serialRun.ts";

/** TPC-H 1 over CSV. The bench `sql` compares more queries with DuckDB. */
export const sqlBench: CalculationBench = {
  name: "sql",
  unit: "bytes",
  async measure({ quick }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    try {
      const path = join(folder, "lineitem.csv");
      await writeFile(path, lineitemCsv(quick ? 40_000 : 3_000_000));
      const asked = { source: "bench/lineitem.csv", query: pricing };
      const { seconds } = await serialRun(sql, asked, folderFiles(folder));
      return { perS: (await stat(path)).size / seconds };
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

async function* bytesOf(pieces: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}
