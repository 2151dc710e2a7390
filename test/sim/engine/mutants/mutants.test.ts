import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SimulationCode, simulationCode } from "../../code/simulationCode.ts";
import type { EngineCase } from "../engineCase.ts";
import type { EngineCaseDone } from "../playCase.ts";
import { isPlayedByDefault } from "../seeds.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";

/**
 * A simulation that cannot fail proves nothing. Each rule of docs/ARCHITECTURE.md is broken in turn, and the checker
 * that the table names has to see it; the code as it is has to pass the very same cases. Of these, simulation.test.ts
 * plays the scenarios and the first seeds anyway.
 */
let code: SimulationCode<EngineCase, EngineCaseDone>;
const used = new Map<string, EngineCase>();
/** The first case mostly kills: a second thread would play another for nothing. */
const threads = 1;
const seedsMax = 60;

beforeAll(async () => {
  code = await simulationCode(join(import.meta.dirname, "../playCase.ts"));
});
afterAll(async () => {
  await code?.close();
});

function* casesFor({ cases }: Mutant): Generator<EngineCase> {
  if (!("seedsFrom" in cases)) return yield* cases;
  for (let seed = cases.seedsFrom; seed < cases.seedsFrom + seedsMax; seed += 1) yield seed;
}

test.each(mutants)("without $without (rule $rule): $killedBy", async (mutant) => {
  let killed = false;
  const others = new Set<string>();
  await code.run({
    ...{ cases: casesFor(mutant), mutations: mutant.edits, threads },
    enough({ case: one, result }) {
      used.set(JSON.stringify(one), one);
      for (const { checker, what } of result.violations) {
        if (checker === mutant.killedBy) killed = true;
        else others.add(`${checker}: ${what}`);
      }
      return killed;
    },
  });
  expect(killed, `not seen, only ${[...others].slice(0, 5).join("; ") || "nothing"} was`).toBe(true);
});

test("the code as it is passes the cases that no other test plays", async () => {
  const failed: unknown[] = [];
  await code.run({
    ...{ cases: [...used.values()].filter(isPlayedHereOnly), threads },
    enough({ case: one, result }) {
      if (result.violations.length > 0) failed.push({ case: one, ...result.violations[0] });
      return false;
    },
  });
  expect(failed).toEqual([]);
});

const isPlayedHereOnly = (one: EngineCase): boolean =>
  typeof one === "object" || (typeof one === "number" && !isPlayedByDefault(one));
