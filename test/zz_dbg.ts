import { disturbances } from "./sim/scale/disturbances.ts";

(globalThis as any).DBG = (...a: unknown[]) => console.log(...a);
for (const [k, d] of Object.entries(disturbances))
  if (k.includes(process.argv[2]!)) {
    console.log(k, await (d as any).figure());
  }
