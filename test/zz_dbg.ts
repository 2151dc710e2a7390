import { scenarios } from "./sim/engine/scenarios/scenarios.ts";

(globalThis as any).DBG = (...a: unknown[]) => console.log(...a);
await scenarios[process.argv[2]!]!();
