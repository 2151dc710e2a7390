import { setTimeout as sleep } from "node:timers/promises";
import { readManifest } from "../../src/engine/client/runDocuments.ts";
import { chainFile } from "../support/chain.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";

const runs = 15;
const request = { calculation: "chain", params: { chunks: 10 }, packSize: 1 };
/** Idle for longer, the instance polls its queues at their longest interval. */
const idleMs = 5_000;

/** From submit until the manifest can be read, as a person at the app's API meets it; nothing tells of messages. */
export const latencyBench: Bench = {
  name: "latency",
  question: "how long from submit over HTTP to result, for ten trivial chunks on a warm and idle instance?",
  async run() {
    const app = await startRealApp({
      instances: 1,
      calculations: [chainFile],
      // Ticks as in Azure: none of them is to find the run.
      env: { LEASEFOLD_SCHEDULE: "0 * * * * *", LEASEFOLD_WATCH: "false" },
    });
    const seconds: number[] = [];
    let deliveries = 0;
    try {
      for (let count = 0; count < runs + 1; count += 1) {
        // At any moment between two polls, as people do.
        await sleep(idleMs + ((count * 137) % 900));
        const before = deliveriesOf(app);
        const took = await runOverHttp(app);
        // The first run starts the threads.
        if (count === 0) continue;
        seconds.push(took);
        deliveries += deliveriesOf(app) - before;
      }
    } finally {
      await app.stop();
    }
    const figures = {
      ...{ p50: quantile(seconds, 0.5), p90: quantile(seconds, 0.9), max: Math.max(...seconds) },
      deliveries,
    };
    return {
      rows: [{ runs, ...figures }],
      figures,
      goals: [
        { goal: "the median is at most 0.4 s", met: figures.p50 <= 0.4 },
        { goal: "no queue has to bring any of their work", met: deliveries === 0 },
      ],
    };
  },
};

/** Messages of plans, packs and results that queues have brought so far; the clean-up comes after the result. */
const deliveriesOf = ({ events }: RealApp): number =>
  events.filter((one) => one.kind === "started" && one.function === "workerUrgent").length;

async function runOverHttp({ client, instances }: RealApp): Promise<number> {
  const startedMs = performance.now();
  const answer = await fetch(`${instances.instances[0]?.httpUrl}/api/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-functions-key": instances.functionKey },
    body: JSON.stringify(request),
  });
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  const run = (await answer.json()) as { readonly run: string; readonly uid: string };
  while ((await readManifest(client, run, 1)) === undefined) await sleep(20);
  return (performance.now() - startedMs) / 1_000;
}
