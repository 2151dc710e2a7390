import { setTimeout as sleep } from "node:timers/promises";
import { startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";
import { runUntilManifest } from "./runUntilManifest.ts";

const runs = 15;

/** From submit until the manifest can be read. */
export const latencyBench: Bench = {
  name: "latency",
  question: "how long from submit to result, for ten trivial chunks on warm embedded instances?",
  async run() {
    const app = await startRealApp({ instances: 3 });
    const seconds: number[] = [];
    try {
      for (let count = 0; count < runs + 1; count += 1) {
        // At any moment between two ticks, as people do.
        await sleep(300 + ((count * 137) % 900));
        const one = await runUntilManifest(app, { calculation: "primes", params: { to: 6e8 } });
        // The first run starts the threads.
        if (count > 0) seconds.push(one.seconds);
      }
    } finally {
      await app.stop();
    }
    const figures = { p50: quantile(seconds, 0.5), p90: quantile(seconds, 0.9), max: Math.max(...seconds) };
    return {
      rows: [{ runs, ...figures }],
      figures,
      goals: [{ goal: "the median is under 1 s", met: figures.p50 < 1 }],
    };
  },
};
