import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duckMemory } from "../../packages/cli/local/instanceEnv.ts";
import type { Bench } from "./bench.ts";
import type { Answer, Question } from "./sqlProcess.ts";
import { formats, queries, writeTables } from "./sqlQueries.ts";

const ratioMax = 1.3;

/**
 * CPU of `sql` beside DuckDB on one thread, which read the same files: each in a process of its own that stays open, with the
 * allocator of an instance. They take turns, because the speed of a shared machine changes. Throws where an answer differs.
 */
export const sqlBench: Bench = {
  name: "sql",
  question: "what CPU does a query over CSV, NDJSON and Parquet take, beside DuckDB on one thread?",
  async run({ quick, say }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-bench-"));
    const [ours, theirs] = [startProcess(), startProcess()];
    const rows: Record<string, string>[] = [];
    const figures: Record<string, number> = {};
    try {
      await writeTables(folder, quick ? 40_000 : 3_000_000);
      for (const [name, { table, query }] of Object.entries(queries)) {
        const row: Record<string, string> = { query: name };
        for (const format of formats) {
          const asked = { folder, file: `${table}.${format}`, query };
          const [mine, others]: [number[], number[]] = [[], []];
          for (let round = 0; round < (quick ? 1 : 3); round += 1) {
            const truth = await ask(theirs, { ...asked, by: "duckdb" });
            const answer = await ask(ours, { ...asked, by: "sql" });
            compareRows(answer.rows, truth.rows);
            mine.push(answer.cpuS);
            others.push(truth.cpuS);
          }
          const [cpuS, otherS] = [middle(mine), middle(others)];
          figures[`ratio-${name}-${format}`] = cpuS / otherS;
          figures[`cpuS-${name}-${format}`] = cpuS;
          row[format] = `${(cpuS / otherS).toFixed(2)} (${otherS.toFixed(2)})`;
          say(`  ${name} over ${format}: ${cpuS.toFixed(2)} s of CPU, DuckDB ${otherS.toFixed(2)} s`);
        }
        rows.push(row);
      }
    } finally {
      for (const child of [ours, theirs]) child.kill();
      await rm(folder, { recursive: true });
    }
    const goals = formats.map((format) => ({
      goal: `every query over ${format} takes at most ${ratioMax} × the CPU of DuckDB on one thread`,
      met: Object.keys(queries).every((name) => (figures[`ratio-${name}-${format}`] ?? 9) <= ratioMax),
    }));
    return { rows, figures, goals: quick ? [] : goals };
  },
};

const startProcess = (): ChildProcess =>
  fork(join(import.meta.dirname, "sqlProcess.ts"), {
    env: { ...process.env, ...duckMemory },
    serialization: "advanced",
  });

const ask = (child: ChildProcess, question: Question): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process of the bench ended with ${code}`));
    child.once("exit", onExit);
    child.once("message", (answer) => {
      child.off("exit", onExit);
      resolve(answer as Answer);
    });
    child.send(question);
  });

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** To 10^-9: both add doubles, in another order. */
function compareRows(ours: Answer["rows"], theirs: Answer["rows"]): void {
  if (ours.length !== theirs.length) throw new Error(`DuckDB has ${theirs.length} groups`);
  for (const [at, row] of theirs.entries())
    for (const [name, truth] of Object.entries(row)) {
      const answer = ours[at]?.[name];
      const near =
        typeof truth === "number" ? Math.abs(Number(answer) - truth) <= truth * 1e-9 : answer === truth;
      if (!near) throw new Error(`DuckDB says ${truth}, sql ${answer}`);
    }
}
