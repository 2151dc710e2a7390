import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SimulationCode, simulationCode } from "../../code/simulationCode.ts";
import { pointsOf } from "../everyPoint.ts";
import type { Case, CaseDone } from "../playCase.ts";
import { type Mutant, mutants } from "./mutants.ts";

/**
 * A simulation that cannot fail proves nothing. Each safety condition is taken out in turn, and the checker that
 * the table names has to see it; the code as it is has to pass the very same cases. Of these, election.test.ts plays
 * the seeds anyway.
 */
let code: SimulationCode<Case, CaseDone>;
const used = new Map<string, Case>();
/** The first cases mostly kill: a second thread would play others for nothing. */
const threads = 1;
const seedsMax = 200;

beforeAll(async () => {
  code = await simulationCode(join(import.meta.dirname, "../playCase.ts"));
});
afterAll(async () => {
  await code?.close();
});

function* casesFor({ from = { seed: 1 } }: Mutant): Generator<Case> {
  if ("seed" in from) for (let seed = from.seed; seed < from.seed + seedsMax; seed += 1) yield seed;
  else for (const point of pointsOf(40)) if (point.call >= from.call) yield point;
}

test.each(mutants)("without $lacks: $killedBy", async (mutant) => {
  let killed = false;
  const others = new Set<string>();
  await code.run({
    ...{ cases: casesFor(mutant), mutations: [mutant], threads },
    enough({ case: one, result }) {
      used.set(JSON.stringify(one), one);
      for (const { checker } of result.violations) {
        if (checker === mutant.killedBy) killed = true;
        else others.add(checker);
      }
      return killed;
    },
  });
  expect(killed, `not seen in ${seedsMax} worlds, only ${[...others].join(", ") || "nothing"} was`).toBe(
    true,
  );
});

test("the code as it is passes the cases that no other test plays", async () => {
  expect(used.size).toBeGreaterThan(mutants.length);
  const failed: unknown[] = [];
  await code.run({
    ...{ cases: [...used.values()].filter((one) => typeof one !== "number"), threads },
    enough({ case: one, result }) {
      if (result.violations.length > 0) failed.push({ case: one, ...result.violations[0] });
      return false;
    },
  });
  expect(failed).toEqual([]);
});
