import { everyPoint, type Point } from "./everyPoint.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { simulate } from "./simulate.ts";
import type { SimulationResult } from "./stage.ts";

/** What to simulate: a world by its seed, a scenario by its title, or one fault at one point. */
export type EngineCase = number | string | Point;

export async function simulateCase(one: EngineCase): Promise<SimulationResult> {
  if (typeof one === "number") return simulate(one);
  if (typeof one === "object") return everyPoint(one);
  const scenario = scenarios[one];
  if (scenario === undefined) throw new Error(`There is no scenario "${one}".`);
  return scenario();
}
