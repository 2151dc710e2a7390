import { noFigures } from "./checks/figures.ts";
import { type EngineCase, simulateCase } from "./engineCase.ts";
import type { SimulationResult } from "./stage.ts";

export interface EngineCaseDone {
  readonly case: EngineCase;
  readonly result: SimulationResult;
}

/** For `simulationCode`. */
export async function play(one: EngineCase): Promise<EngineCaseDone> {
  return { case: one, result: await simulateCase(one).catch(broken) };
}

const broken = (error: unknown): SimulationResult => {
  const violations = [
    { checker: "every run ends", what: `The simulation itself failed: ${String(error)}` },
  ] as const;
  return { violations, figures: noFigures, digest: "" };
};
