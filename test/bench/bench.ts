import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { defects } from "../support/chaos/chaos.ts";
import { chaosBench } from "./chaos.ts";
import { engineBench } from "./engine.ts";
import { latencyBench } from "./latency.ts";
import { overheadBench } from "./overhead.ts";
import { peersBench } from "./peers.ts";
import { scaleBench } from "./scale.ts";
import { sharesBench } from "./shares.ts";
import { soakBench } from "./soak.ts";
import { sqlBench } from "./sql.ts";
import { takeoverBench } from "./takeover.ts";
import { takeoverFastBench } from "./takeoverFast.ts";
import { waitsBench } from "./waits.ts";

/**
 * `npm run bench [-- NAME…] [--json] [--full | --quick]`: each bench answers one question about the built app in real
 * processes on a real Azurite; `scale` and `shares` answer on models in virtual time. Without names all of them run.
 * `--full` takes the sizes that take minutes, `--quick` so few that only the bench itself is tried.
 */
export interface Bench {
  readonly name: string;
  readonly question: string;
  /** Runs only where it is named: it takes as long as it is told to, or wants what is not installed. A missed goal is an error. */
  readonly byName?: true;
  run(options: BenchOptions): Promise<BenchResult>;
}

interface BenchOptions {
  readonly full: boolean;
  readonly quick: boolean;
  /** These are of `chaos` and `soak`. */
  readonly minutes?: number | undefined;
  readonly seed?: number | undefined;
  /** Folder of an older build, whose instances work beside this one's. */
  readonly older?: string | undefined;
  /** A defect that is put in, which a check has to see. */
  readonly defect?: string | undefined;
  say(line: string): void;
}

/** Rows for people, figures by name for programs, and the goals that hold or do not. */
export interface BenchResult {
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly figures: Readonly<Record<string, number>>;
  readonly goals: readonly { readonly goal: string; readonly met: boolean }[];
}

const benches: readonly Bench[] = [
  latencyBench,
  waitsBench,
  overheadBench,
  takeoverBench,
  takeoverFastBench,
  engineBench,
  scaleBench,
  sharesBench,
  sqlBench,
  chaosBench,
  soakBench,
  peersBench,
];

const help = `npm run bench [-- NAME…] [--json] [--full | --quick]

  --full   the sizes that take minutes
  --quick  so few that only the bench itself is tried
  --json   figures for programs
  --help   this text

Without names these run:
${listed(false)}

These run only by name, and end with code 1 where a goal is missed:
${listed(true)}

  --minutes N     how long
  --seed S        the plan of faults that printed this seed
  --older FOLDER  two instances of the build in this folder work beside those of this one
  --defect NAME   what a check has to see: ${defects.join(", ")}`;

function listed(byName: boolean): string {
  return benches
    .filter((bench) => (bench.byName === true) === byName)
    .map(({ name, question }) => `  ${name.padEnd(14)}${question}`)
    .join("\n");
}

function refuse(why: string): never {
  console.error(`${why}\n\n${help}`);
  process.exit(2);
}

function readArguments() {
  const flag = { type: "boolean", default: false } as const;
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ json: flag, full: flag, quick: flag, help: { ...flag, short: "h" } },
        ...{ minutes: text, seed: text, older: text, defect: text },
      },
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
const chosen = benches.filter((bench) =>
  positionals.length === 0 ? bench.byName !== true : positionals.includes(bench.name),
);
const { older, defect } = values;
if (defect !== undefined && !defects.some((one) => one === defect)) refuse(`There is no defect ${defect}.`);
const [minutes, seed] = [numberOf("minutes"), numberOf("seed")];

function numberOf(name: "minutes" | "seed"): number | undefined {
  const given = values[name];
  if (given === undefined) return undefined;
  const number = Number(given);
  if (given.trim() === "" || !(number > 0) || (name === "seed" && !Number.isSafeInteger(number)))
    refuse(`--${name}: ${given} is no ${name === "seed" ? "whole " : ""}number above 0.`);
  return number;
}

const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`;
const say = (line: string): void => (values.json ? console.error(line) : console.log(line));

say(machine);
const results: Record<string, BenchResult> = {};
for (const bench of chosen) {
  say(`\n${bench.name}: ${bench.question}`);
  const result = await bench.run({
    full: values.full,
    quick: values.quick,
    minutes,
    seed,
    older,
    defect,
    say,
  });
  results[bench.name] = result;
  if (bench.byName === true && result.goals.some(({ met }) => !met)) process.exitCode = 1;
  if (values.json) continue;
  console.table(result.rows);
  for (const { goal, met } of result.goals) say(`${met ? "met " : "MISSED"}  ${goal}`);
}
if (values.json) console.log(JSON.stringify({ machine, results }, null, 2));
