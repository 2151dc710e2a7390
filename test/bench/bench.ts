import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { calculationsBench } from "./calculations.ts";
import { downloadBench } from "./download.ts";
import { engineBench } from "./engine.ts";
import { latencyBench } from "./latency.ts";
import { leadingBench } from "./leading.ts";
import { overheadBench } from "./overhead.ts";
import { scaleBench } from "./scale.ts";
import { sqlBench } from "./sql.ts";
import { takeoverBench } from "./takeover.ts";
import { takeoverFastBench } from "./takeoverFast.ts";
import { timersBench } from "./timers.ts";
import { traceBench } from "./trace.ts";

/**
 * `npm run bench [-- NAME…] [--json] [--full | --quick]`: each bench answers one question about the built app in real
 * processes on a real Azurite; `leading`, `scale` and `timers` answer on a model in virtual time. Without names all of them run.
 * `--full` takes the sizes that take minutes, `--quick` so few that only the bench itself is tried.
 */
export interface Bench {
  readonly name: string;
  readonly question: string;
  run(options: {
    readonly full: boolean;
    readonly quick: boolean;
    say(line: string): void;
  }): Promise<BenchResult>;
}

/** Rows for people, figures by name for programs, and the goals that hold or do not. */
export interface BenchResult {
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly figures: Readonly<Record<string, number>>;
  readonly goals: readonly { readonly goal: string; readonly met: boolean }[];
}

const benches: readonly Bench[] = [
  latencyBench,
  traceBench,
  overheadBench,
  takeoverBench,
  takeoverFastBench,
  engineBench,
  leadingBench,
  scaleBench,
  timersBench,
  calculationsBench,
  sqlBench,
  downloadBench,
];

const help = `npm run bench [-- NAME…] [--json] [--full | --quick]

  --full   the sizes that take minutes
  --quick  so few that only the bench itself is tried
  --json   figures for programs
  --help   this text

Without names all benches run:
${benches.map(({ name, question }) => `  ${name.padEnd(14)}${question}`).join("\n")}`;

function refuse(why: string): never {
  console.error(`${why}\n\n${help}`);
  process.exit(2);
}

function readArguments() {
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: flag, full: flag, quick: flag, help: { ...flag, short: "h" } },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) refuse(`There is no bench ${unknown.join(", ")}.`);
const chosen = benches.filter((bench) => positionals.length === 0 || positionals.includes(bench.name));
const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`;
const say = (line: string): void => (values.json ? console.error(line) : console.log(line));

say(machine);
const results: Record<string, BenchResult> = {};
for (const bench of chosen) {
  say(`\n${bench.name}: ${bench.question}`);
  const result = await bench.run({ full: values.full, quick: values.quick, say });
  results[bench.name] = result;
  if (values.json) continue;
  console.table(result.rows);
  for (const { goal, met } of result.goals) say(`${met ? "met " : "MISSED"}  ${goal}`);
}
if (values.json) console.log(JSON.stringify({ machine, results }, null, 2));
