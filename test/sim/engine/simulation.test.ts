import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCases } from "../election/runCases.ts";
import { type SimulationCode, simulationCode } from "../election/simulationCode.ts";
import { replayCommand } from "../replay.ts";
import { addFigures, noFigures } from "./checks/figures.ts";
import type { EngineCase } from "./engineCase.ts";
import { everyPoint, pointsOf } from "./everyPoint.ts";
import { failedSeeds } from "./failedSeeds.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import {
  changingWorlds,
  lossyFrom,
  lossyWorlds,
  stoppingFrom,
  stoppingWorlds,
  unevenFrom,
  unevenWorlds,
  waitingFrom,
  waitingWorlds,
  worlds,
} from "./seeds.ts";
import { simulate } from "./simulate.ts";
import type { EngineCaseDone } from "./simulationWorker.ts";

/** `LEASEFOLD_SIM_RUNS=5000` plays so many worlds, `LEASEFOLD_SIM_SEEDS=201-400` a range; `npm run sim` one of them again. */
const asked = process.env["LEASEFOLD_SIM_SEEDS"] ?? `1-${process.env["LEASEFOLD_SIM_RUNS"] ?? worlds}`;
const [from = 1, to = from] = asked.split("-").map(Number);
/** Whoever asks for more worlds gets every fault at every call as well. */
const thorough = process.env["LEASEFOLD_SIM_RUNS"] !== undefined;
const threads = Math.min(4, availableParallelism());
let code: SimulationCode;
let file: string;

beforeAll(async () => {
  code = await simulationCode(join(import.meta.dirname, "simulationWorker.ts"));
  file = await code.build();
});
afterAll(async () => {
  await code?.remove();
});

function failOn({ case: one, result }: EngineCaseDone): void {
  if (result.violations.length === 0) return;
  const what = result.violations.map((each) => `${each.checker}: ${each.what}`).join("; ");
  throw new Error(`${JSON.stringify(one)}: ${what}. Again: ${replayCommand(one)}`);
}

const all = (cases: Iterable<EngineCase>, each: (done: EngineCaseDone) => void) =>
  runCases<EngineCase, EngineCaseDone>(file, cases, {
    threads,
    enough(done) {
      failOn(done);
      each(done);
      return false;
    },
  });

/** The named scenarios and the seeds that failed once are played together: a thread takes longer to start than to play one. */
const played = new Map<EngineCase, EngineCaseDone>();
const seen = (one: EngineCase): void => {
  const done = played.get(one);
  expect(done?.result.figures.runs).toBeGreaterThan(0);
  if (done !== undefined) failOn(done);
};
beforeAll(async () => {
  const cases = [...Object.keys(scenarios), ...failedSeeds.map(([seed]) => seed)];
  await runCases<EngineCase, EngineCaseDone>(file, cases, {
    threads,
    enough(done) {
      played.set(done.case, done);
      return false;
    },
  });
}, 900_000);

test.each(Object.keys(scenarios))("%s", seen);
test.each(failedSeeds)("seed %i, which failed once, passes: %s", seen);

test(`worlds ${from} to ${to}: whatever happens, every promise of the engine is kept`, async () => {
  const startMs = performance.now();
  let sum = noFigures;
  const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  await all(seeds, ({ result }) => {
    sum = addFigures(sum, result.figures);
  });
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  console.log(`${seeds.length} worlds in ${seconds} s: ${JSON.stringify(sum)}`);
  // A simulation in which little happens would prove little.
  if (seeds.length < worlds) return;
  for (const [name, count] of Object.entries(sum)) expect([name, count > 5]).toEqual([name, true]);
}, 36_000_000);

test("worlds with changing code: whoever has which code, no result folds two unless it was asked to, and every run ends", async () => {
  const seeds = Array.from({ length: thorough ? to : changingWorlds }, (_, index) => -1 - index);
  let sum = noFigures;
  await all(seeds, ({ result }) => {
    sum = addFigures(sum, result.figures);
  });
  console.log(`${seeds.length} worlds of changing code: ${JSON.stringify(sum)}`);
  expect(sum.retries).toBeGreaterThan(5);
}, 3_600_000);

test.each([
  ["storage loses messages and blobs, and somebody deletes what a run needs", lossyFrom, lossyWorlds],
  ["packs are unlike one another, on up to 200 threads in up to 20 runs", unevenFrom, unevenWorlds],
  ["runs may stop before their last chunk", stoppingFrom, stoppingWorlds],
  ["attempts wait, and code asks for later ones or ends its run", waitingFrom, waitingWorlds],
] as const)(
  "worlds in which %s: every run ends within its bound, and nothing is deleted unasked",
  async (_, first, count) => {
    const seeds = Array.from({ length: thorough ? to : count }, (_, index) => first + index);
    let sum = noFigures;
    await all(seeds, ({ result }) => {
      sum = addFigures(sum, result.figures);
    });
    console.log(`${seeds.length} worlds from ${first}: ${JSON.stringify(sum)}`);
    expect(sum.complete).toBeGreaterThan(count / 2);
  },
  3_600_000,
);

test.each([
  ["leader", "a run", {}, 50],
  ["worker", "a run", {}, 50],
  ["leader", "runs that reuse partials", { reuses: true }, 50],
  // Few packs are computed, in one shard.
  ["worker", "runs that reuse partials", { reuses: true }, 12],
  ["leader", "a run that stops", { stops: true }, 50],
  ["worker", "a run that stops", { stops: true }, 50],
  ["leader", "schedules", { schedules: true }, 50],
] as const)(
  "a %s of %s dies at each of its calls to storage, or sleeps there for minutes, and nothing is lost",
  async (who, _, of, callsMin) => {
    const startMs = performance.now();
    const life = await everyPoint({ who, ...of, call: 0, fate: "arrives" });
    expect(life.violations).toEqual([]);
    expect(life.calls.length).toBeGreaterThan(callsMin);
    let count = 0;
    await all(pointsOf({ who, ...of }, life, thorough), () => {
      count += 1;
    });
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
    console.log(`${count} faults at the ${life.calls.length} calls of a ${who}'s life in ${seconds} s`);
  },
  3_600_000,
);

test("a world replays exactly from its seed, also in another thread", async () => {
  const here = await simulate(6);
  expect(await simulate(6)).toEqual(here);
  await all([6], ({ result }) => expect(result).toEqual(here));
});
