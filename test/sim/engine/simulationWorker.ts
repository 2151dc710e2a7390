import { parentPort } from "node:worker_threads";
import { noFigures } from "./checks/figures.ts";
import { everyPoint, type Point } from "./everyPoint.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { simulate } from "./simulate.ts";
import type { SimulationResult } from "./stage.ts";

/** What to simulate: a world by its seed, a scenario by its name, or one fault at one point. */
export type EngineCase = number | string | Point;

export interface EngineCaseDone {
  readonly case: EngineCase;
  readonly result: SimulationResult;
}

// Thousands of refusals are made and thrown away; nobody reads where they came from.
Error.stackTraceLimit = 0;

/** Simulates each case that it is sent. Runs in a worker thread, so that a long range uses every core. */
parentPort?.on("message", async (one: EngineCase) => {
  const result = await simulateCase(one).catch(broken);
  parentPort?.postMessage({ case: one, result } satisfies EngineCaseDone);
});

async function simulateCase(one: EngineCase): Promise<SimulationResult> {
  if (typeof one === "number") return simulate(one);
  if (typeof one === "object") return everyPoint(one);
  const scenario = scenarios[one];
  if (scenario === undefined) throw new Error(`there is no scenario "${one}"`);
  return scenario();
}

const broken = (error: unknown): SimulationResult => {
  const violations = [
    { checker: "every run ends", what: `The simulation itself failed: ${String(error)}` },
  ] as const;
  return { violations, figures: noFigures, digest: "" };
};
