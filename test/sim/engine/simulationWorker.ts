import { parentPort } from "node:worker_threads";
import { noFigures } from "./checks/figures.ts";
import { type EngineCase, simulateCase } from "./engineCase.ts";
import type { SimulationResult } from "./stage.ts";

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

const broken = (error: unknown): SimulationResult => {
  const violations = [
    { checker: "every run ends", what: `The simulation itself failed: ${String(error)}` },
  ] as const;
  return { violations, figures: noFigures, digest: "" };
};
