import { parentPort } from "node:worker_threads";
import { everyPoint, type Point } from "./everyPoint.ts";
import { simulate } from "./simulate.ts";
import type { SimulationResult } from "./stage.ts";

/** What to simulate: a storm by its seed, or one fault at one point. */
export type Case = number | Point;

export interface CaseDone {
  readonly case: Case;
  readonly result: SimulationResult;
}

// Thousands of refusals are made and thrown away; nobody reads where they came from.
Error.stackTraceLimit = 0;

/** Simulates each case that it is sent. Runs in a worker thread, so that a long range uses every core. */
parentPort?.on("message", async (one: Case) => {
  const result = await (typeof one === "number" ? simulate(one) : everyPoint(one)).catch(broken);
  parentPort?.postMessage({ case: one, result } satisfies CaseDone);
});

const broken = (error: unknown): SimulationResult => {
  const violations = [
    { checker: "ends when told", what: `The simulation itself failed: ${String(error)}` },
  ] as const;
  return { violations, claims: 0, takeovers: 0, accepted: 0, digest: "" };
};
