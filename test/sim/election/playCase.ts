import { everyPoint, type Point } from "./everyPoint.ts";
import { simulate } from "./simulate.ts";
import type { SimulationResult } from "./stage.ts";

/** What to simulate: a storm by its seed, or one fault at one point. */
export type Case = number | Point;

export interface CaseDone {
  readonly case: Case;
  readonly result: SimulationResult;
}

/** For `simulationCode`. */
export async function play(one: Case): Promise<CaseDone> {
  return {
    case: one,
    result: await (typeof one === "number" ? simulate(one) : everyPoint(one)).catch(broken),
  };
}

const broken = (error: unknown): SimulationResult => {
  const violations = [
    { checker: "ends when told", what: `The simulation itself failed: ${String(error)}` },
  ] as const;
  return { violations, claims: 0, takeovers: 0, accepted: 0, digest: "" };
};
