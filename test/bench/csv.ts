import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { csvParseRows } from "d3-dsv";
import { lineitemCsv } from "../support/lineitem.ts";
import type { Bench } from "./bench.ts";
import { compareRows } from "./calculations/aggregate.ts";
import { machineSeconds } from "./cpu.ts";
import type { CsvAnswer, CsvSide } from "./csvSide.ts";

const rounds = 5;
const sides = [
  "csv",
  "csv before",
  "csv by DuckDB",
  "ndjson",
  "ndjson before",
  "ndjson by DuckDB",
] as const satisfies readonly CsvSide[];

const medianOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;

async function answerOf(child: ChildProcess, side: CsvSide): Promise<CsvAnswer> {
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`the process of ${side} ended with ${code ?? signal}`);
  });
  child.send("again");
  const [answer] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => {});
  return answer as CsvAnswer;
}

/** Query 1 of TPC-H, each side in a process of its own, by CPU time, since others may share the machine. The sides take turns. */
export const csvBench: Bench = {
  name: "csv",
  question:
    "what CPU does one thread need for CSV and NDJSON, beside DuckDB and the code that made every field?",
  async run({ quick, full, say }) {
    const folder = await mkdtemp(join(tmpdir(), "leasefold-csv-"));
    const children: ChildProcess[] = [];
    try {
      const records = quick ? 10_000 : full ? 3_000_000 : 400_000;
      const paths = { csv: join(folder, "lineitem.csv"), ndjson: join(folder, "lineitem.ndjson") };
      await pipeline(Readable.from(lineitemCsv(records)), createWriteStream(paths.csv));
      await pipeline(Readable.from(ndjsonOf(records)), createWriteStream(paths.ndjson));
      const megabytes = {
        csv: (await stat(paths.csv)).size / 1e6,
        ndjson: (await stat(paths.ndjson)).size / 1e6,
      };
      const processes = sides.map((side) => fork(join(import.meta.dirname, "csvSide.ts"), [side, folder]));
      children.push(...processes);
      const before = machineSeconds();
      const seconds = sides.map((): number[] => []);
      let ownS = 0;
      // The first round is for the compilers.
      for (let round = 0; round <= rounds; round++) {
        const answers: CsvAnswer[] = [];
        for (const [index, child] of processes.entries()) {
          const answer = await answerOf(child, sides[index] as CsvSide);
          answers.push(answer);
          ownS += answer.cpuS;
          if (round > 0) seconds[index]?.push(answer.cpuS);
        }
        for (const { rows } of answers) compareRows(answers[0]?.rows ?? [], rows);
      }
      const after = machineSeconds();
      const others = (after.busy - before.busy - ownS) / (after.all - before.all);
      say(`other work took ${(others * 100).toFixed(0)} % of the machine`);
      const medians = Object.fromEntries(sides.map((side, index) => [side, medianOf(seconds[index] ?? [])]));
      const rows = sides.map((side, index) => ({
        side,
        "CPU s, median": (medians[side] as number).toFixed(2),
        each: seconds[index]?.map((one) => one.toFixed(2)).join(" ") ?? "",
        "MB per CPU s": Math.round(
          megabytes[side.startsWith("csv") ? "csv" : "ndjson"] / (medians[side] as number),
        ),
      }));
      const ratio = (side: CsvSide, other: CsvSide): number =>
        (medians[side] as number) / (medians[other] as number);
      const goals = [
        {
          goal: "CSV at most 1.5 × the CPU of DuckDB on one thread",
          met: ratio("csv", "csv by DuckDB") <= 1.5,
        },
        {
          goal: "CSV at most half the CPU of the code of 2026-11-21",
          met: ratio("csv", "csv before") <= 0.5,
        },
        {
          goal: "NDJSON at most half the CPU of the code of 2026-11-21",
          met: ratio("ndjson", "ndjson before") <= 0.5,
        },
      ];
      // Sizes that only try the bench tell nothing about its goals.
      return { rows, figures: { ...medians, others }, goals: quick ? [] : goals };
    } finally {
      for (const child of children) child.kill();
      await rm(folder, { recursive: true });
    }
  },
};

/** The records of `lineitemCsv` as objects whose numbers are numbers. */
function* ndjsonOf(count: number): Generator<string> {
  const textOf = (value: string): string => (/^\d+(\.\d+)?$/.test(value) ? value : JSON.stringify(value));
  let names: string[] = [];
  for (const piece of lineitemCsv(count)) {
    const records = csvParseRows(piece);
    if (names.length === 0) names = records.shift() ?? [];
    const line = (record: string[]): string =>
      `{${record.map((value, at) => `"${names[at]}":${textOf(value)}`).join(",")}}\n`;
    yield records.map(line).join("");
  }
}
