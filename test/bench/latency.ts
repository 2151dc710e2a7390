import { setTimeout as sleep } from "node:timers/promises";
import { findManifest } from "../../src/client/result.ts";
import { submit } from "../../src/client/submit.ts";
import { NotReadyError } from "../../src/model/errors.ts";
import { startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";

const runs = 15;

/** From submit until the manifest can be read; the client asks for it every 20 ms. */
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
        const startedMs = performance.now();
        const { run } = await submit(app.client, { calculation: "queens", params: { n: 5 } });
        for (;;) {
          const manifest = await findManifest(app.client, run).catch((error: unknown) => {
            if (!(error instanceof NotReadyError)) throw error;
            return undefined;
          });
          if (manifest !== undefined) break;
          await sleep(20);
        }
        // The first run starts the threads.
        if (count > 0) seconds.push((performance.now() - startedMs) / 1000);
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
