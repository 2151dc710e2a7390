import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawnSeed } from "../../support/drawnSeed.ts";
import { type SimulationCode, simulationCode } from "../code/simulationCode.ts";
import { replayCommand } from "../replay.ts";
import { addFigures, noFigures } from "./checks/figures.ts";
import type { EngineCase } from "./engineCase.ts";
import { everyPoint, pointsOf } from "./everyPoint.ts";
import { failedSeeds } from "./failedSeeds.ts";
import type { EngineCaseDone } from "./playCase.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { changingSeeds, kinds, seedsOf } from "./seeds.ts";
import { simulate } from "./simulate.ts";

/** `npm run test:deep` plays drawn worlds, more of them, and every fault at every call. */
const thorough = drawnSeed !== undefined;
const threads = Math.min(4, availableParallelism());
let code: SimulationCode<EngineCase, EngineCaseDone>;

beforeAll(async () => {
  code = await simulationCode(join(import.meta.dirname, "playCase.ts"));
});
afterAll(async () => {
  await code?.close();
});

function failOn({ case: one, result }: EngineCaseDone): void {
  if (result.violations.length === 0) return;
  const what = result.violations.map((each) => `${each.checker}: ${each.what}`).join("; ");
  throw new Error(`${JSON.stringify(one)}: ${what}. Again: ${replayCommand(one)}`);
}

const all = (cases: Iterable<EngineCase>, each: (done: EngineCaseDone) => void) =>
  code.run({
    ...{ cases, threads },
    enough(done) {
      failOn(done);
      each(done);
      return false;
    },
  });

/** What is played with other figures already takes a third of all scenarios' CPU time: `npm run test:deep` alone plays it. */
const further = [
  / under a limit of 900 s$/,
  / ends its process, under a limit of 1 s$/,
  /, number (?![12]\b)/,
];
const titles = Object.keys(scenarios).filter(
  (title) => thorough || !further.some((more) => more.test(title)),
);

/** The named scenarios and the seeds that failed once are played together: a thread takes longer to start than to play one. */
const played = new Map<EngineCase, EngineCaseDone>();
const seen = (one: EngineCase): void => {
  const done = played.get(one);
  expect(done?.result.figures.runs).toBeGreaterThan(0);
  if (done !== undefined) failOn(done);
};
beforeAll(async () => {
  const cases = [...titles, ...failedSeeds.map(([seed]) => seed)];
  await code.run({
    ...{ cases, threads },
    enough(done) {
      played.set(done.case, done);
      return false;
    },
  });
});

test.each(titles)("%s", seen);
test.each(failedSeeds)("seed %i, which failed once, passes: %s", seen);

/** Plays worlds, and returns how much happened in them: a simulation in which little happens would prove little. */
async function playWorlds(title: string, seeds: readonly number[]): Promise<typeof noFigures> {
  const startMs = performance.now();
  let sum = noFigures;
  await all(seeds, ({ result }) => {
    sum = addFigures(sum, result.figures);
  });
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  console.log(`${seeds.length} worlds from ${seeds[0]} in ${seconds} s (${title}): ${JSON.stringify(sum)}`);
  return sum;
}

test.each(kinds)(
  "worlds in which $title: every promise of the engine is kept, and every run ends within its bound",
  async (kind) => {
    const seeds = seedsOf(kind);
    const sum = await playWorlds(kind.title, seeds);
    expect(sum.complete).toBeGreaterThan(seeds.length / 3);
    if (kind !== kinds[0]) return;
    for (const [name, count] of Object.entries(sum)) expect([name, count > 0]).toEqual([name, true]);
  },
);

test("worlds with changing code: whoever has which code, no result folds two unless it was asked to, and every run ends", async () => {
  const sum = await playWorlds("changing code", changingSeeds());
  // One world in thirteen has a retry.
  if (drawnSeed === undefined) expect(sum.retries).toBeGreaterThan(0);
});

test.each([
  ["leader", "a run", {}, 50],
  ["worker", "a run", {}, 50],
  ["instance", "a run", {}, 50],
  ["leader", "runs that reuse partials", { story: "reuses" }, 50],
  // Few packs are computed, in one shard.
  ["worker", "runs that reuse partials", { story: "reuses" }, 8],
  ["leader", "a run that stops", { story: "stops" }, 50],
  ["worker", "a run that stops", { story: "stops" }, 50],
  ["instance", "a run that stops", { story: "stops" }, 50],
  ["leader", "schedules", { story: "schedules" }, 50],
  ["instance", "runs that requests wait for", { story: "awaited" }, 50],
] as const)(
  "one %s of %s dies at each of its calls to storage, or sleeps there for minutes, and nothing is lost",
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
    console.log(
      `${count} faults at the ${life.calls.length} calls in the life of one ${who} in ${seconds} s`,
    );
  },
);

test("a world replays exactly from its seed, also in another thread", async () => {
  const here = await simulate(6);
  expect(await simulate(6)).toEqual(here);
  await all([6], ({ result }) => expect(result).toEqual(here));
});
