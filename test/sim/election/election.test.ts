import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawnSeed } from "../../support/drawnSeed.ts";
import { type SimulationCode, simulationCode } from "../code/simulationCode.ts";
import { replayCommand } from "../replay.ts";
import { everyPoint, pointsOf } from "./everyPoint.ts";
import { failedSeeds } from "./failedSeeds.ts";
import type { Case, CaseDone } from "./playCase.ts";
import { simulate } from "./simulate.ts";

/** `npm run test:deep` plays more of them, from a drawn one; `npm run sim` plays one seed again. */
const count = drawnSeed === undefined ? 60 : 200;
const from = 1 + (drawnSeed ?? 0);
const to = from + count - 1;
/** A simulation in which little happens would prove little. */
const takeoversAtLeast = 10 * count;
const threads = Math.min(4, availableParallelism());
let code: SimulationCode<Case, CaseDone>;

beforeAll(async () => {
  code = await simulationCode(join(import.meta.dirname, "playCase.ts"));
});
afterAll(async () => {
  await code?.close();
});

function failOn({ case: one, result }: CaseDone): void {
  if (result.violations.length === 0) return;
  const what = result.violations.map((each) => `${each.checker}: ${each.what}`).join("; ");
  throw new Error(
    `${JSON.stringify(one)}: ${what}. Again: ${replayCommand(one)}${typeof one === "number" ? " --election" : ""}`,
  );
}

test.each(failedSeeds)("seed %i, which failed once, passes: %s", async (seed) => {
  failOn({ case: seed, result: await simulate(seed) });
});

test(`seeds ${from} to ${to}: whatever happens, every promise of the election is kept`, async () => {
  const startMs = performance.now();
  const sum = { takeovers: 0, claims: 0, accepted: 0 };
  const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  await code.run({
    ...{ cases: seeds, threads },
    enough(done) {
      failOn(done);
      sum.takeovers += done.result.takeovers;
      sum.claims += done.result.claims;
      sum.accepted += done.result.accepted;
      return false;
    },
  });
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  console.log(
    `${sum.takeovers} forced takeovers among ${sum.claims} terms, ${seeds.length} seeds, ${seconds} s`,
  );
  expect(sum.takeovers).toBeGreaterThanOrEqual(takeoversAtLeast);
  // A simulation in which nothing is written would prove nothing about what is refused.
  expect(sum.accepted).toBeGreaterThan(sum.claims);
});

test("every fault at every call of a leader's life, with and without an operator, keeps them as well", async () => {
  const life = await everyPoint({ call: 0, fate: "arrives", times: 0, operator: "no", early: true });
  expect(life.violations).toEqual([]);
  expect(new Set(life.calls)).toEqual(
    new Set([
      ...["view", "ensure", "acquire", "renew", "release", "read state", "write state"],
      ...["write leading", "write ended"],
    ]),
  );
  let count = 0;
  await code.run({
    ...{ cases: pointsOf(life.calls.length), threads },
    enough(done) {
      failOn(done);
      count += 1;
      return false;
    },
  });
  console.log(`${count} faults at the ${life.calls.length} calls of one life`);
});

test("a seed replays exactly, also in another thread", async () => {
  const here = await simulate(6);
  expect(await simulate(6)).toEqual(here);
  await code.run({
    cases: [6],
    threads: 1,
    enough({ result }) {
      expect(result).toEqual(here);
      return true;
    },
  });
});
