import { setTimeout as sleep } from "node:timers/promises";
import { readManifest } from "../../src/engine/client/runDocuments.ts";
import { subtractCalls, totalCalls } from "../../src/engine/model/calls.ts";
import { chainFile } from "../support/chain.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { hostCalls } from "./engineRuns.ts";
import { quantile } from "./quantile.ts";

const runs = 15;
const small = { calculation: "chain", params: { chunks: 10 }, packSize: 1 };
/** As a plan cuts them. */
const many = { calculation: "chain", params: { chunks: 10_000 } };
const manyRuns = 5;
/** Idle for longer, the instance polls its queues at their longest interval. */
const idleMs = 5_000;

/** From submit until the manifest can be read, as a person at the app's API meets it; nothing tells of messages. */
export const latencyBench: Bench = {
  name: "latency",
  question:
    "how long from submit over HTTP to result, for ten and for 10,000 trivial chunks on a warm and idle instance?",
  async run() {
    const app = await startRealApp({
      instances: 1,
      calculations: [chainFile],
      // Ticks as in Azure: none of them is to find the run.
      env: { LEASEFOLD_SCHEDULE: "0 * * * * *", LEASEFOLD_WATCH: "false" },
    });
    const seconds: number[] = [];
    const manySeconds: number[] = [];
    const manyCalls: number[] = [];
    let deliveries = 0;
    try {
      for (let count = 0; count < runs + 1; count += 1) {
        // At any moment between two polls, as people do.
        await sleep(idleMs + ((count * 137) % 900));
        const before = deliveriesOf(app);
        const { took } = await runOverHttp(app, small);
        // The first run starts the threads.
        if (count === 0) continue;
        seconds.push(took);
        deliveries += deliveriesOf(app) - before;
      }
      for (let count = 0; count < manyRuns; count += 1) {
        await sleep(idleMs);
        const before = hostCalls(app);
        const { took, run } = await runOverHttp(app, many);
        const { calls } = await app.until(run, ({ active }) => !active);
        // Instances tell what their host has called once a second.
        await sleep(1_100);
        manySeconds.push(took);
        manyCalls.push(totalCalls(calls) + totalCalls(subtractCalls(hostCalls(app), before)));
      }
    } finally {
      await app.stop();
    }
    const figures = {
      ...{ p50: quantile(seconds, 0.5), p90: quantile(seconds, 0.9), max: Math.max(...seconds) },
      ...{ deliveries, manyS: quantile(manySeconds, 0.5), manyCalls: quantile(manyCalls, 0.5) },
    };
    const { p50, p90, max, manyS } = figures;
    return {
      rows: [
        { chunks: 10, runs, p50, p90, max, deliveries },
        {
          chunks: 10_000,
          runs: manyRuns,
          p50: manyS,
          max: Math.max(...manySeconds),
          calls: figures.manyCalls,
        },
      ],
      figures,
      goals: [
        { goal: "the median is at most 0.4 s", met: figures.p50 <= 0.4 },
        { goal: "no queue has to bring any of their work", met: deliveries === 0 },
        { goal: "the median of 10,000 chunks is at most 1.2 s", met: manyS <= 1.2 },
        {
          goal: "10,000 chunks take 137 calls at most, polls of the host included",
          met: figures.manyCalls <= 137,
        },
      ],
    };
  },
};

/** Messages of plans, packs and results that queues have brought so far; the clean-up comes after the result. */
const deliveriesOf = ({ events }: RealApp): number =>
  events.filter((one) => one.kind === "started" && one.function === "workerUrgent").length;

async function runOverHttp(
  { client, instances }: RealApp,
  request: object,
): Promise<{ readonly took: number; readonly run: string }> {
  const startedMs = performance.now();
  const answer = await fetch(`${instances.instances[0]?.httpUrl}/api/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-functions-key": instances.functionKey },
    body: JSON.stringify(request),
  });
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  const run = (await answer.json()) as { readonly run: string; readonly uid: string };
  while ((await readManifest(client, run, 1)) === undefined) await sleep(20);
  return { took: (performance.now() - startedMs) / 1_000, run: run.run };
}
