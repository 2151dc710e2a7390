import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../packages/client/leasefoldClient.ts";
import { subtractCalls, totalCalls } from "../../src/engine/model/calls.ts";
import { chainFile } from "../support/chain.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { hostCalls } from "./engineRuns.ts";
import { quantile } from "./quantile.ts";

const small = { calculation: "chain", params: { chunks: 10 }, packSize: 1 };
/** As a plan cuts them. */
const many = { calculation: "chain", params: { chunks: 10_000 } };
/** How often an idle host polls its queues: by the app's host.json, as in Azure, and under `up`. */
const hosts = [
  { polls: "5 s", interval: "00:00:05", runs: 9, manyRuns: 5 },
  { polls: "0.5 s", interval: "00:00:00.5", runs: 9, manyRuns: 5 },
] as const;
/** A host that has been idle for so long polls at its longest interval. */
const idleMs = 15_000;

interface Measured {
  readonly seconds: readonly number[];
  readonly manySeconds: readonly number[];
  readonly manyCalls: readonly number[];
  readonly deliveries: number;
}

/** From submit until the request that waits for the run says that it has ended, as a program at the app's API meets it. */
export const latencyBench: Bench = {
  name: "latency",
  question:
    "how long from submit over HTTP to result, for ten and for 10,000 trivial chunks on a warm and idle instance?",
  async run() {
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    let deliveries = 0;
    for (const { polls, ...host } of hosts) {
      const found = await measure(host);
      deliveries += found.deliveries;
      for (const [chunks, seconds, calls] of [
        [10, found.seconds, undefined],
        [10_000, found.manySeconds, quantile(found.manyCalls, 0.5)],
      ] as const) {
        const [p50, max] = [quantile(seconds, 0.5), Math.max(...seconds)];
        rows.push({ polls, chunks, runs: seconds.length, p50, max, ...(calls !== undefined && { calls }) });
        figures[`p50 ${chunks} ${polls}`] = p50;
        if (calls !== undefined) figures[`calls ${chunks} ${polls}`] = calls;
      }
    }
    const most = (what: string, limit: number) =>
      hosts.every(({ polls }) => (figures[`${what} ${polls}`] ?? Number.POSITIVE_INFINITY) <= limit);
    return {
      rows,
      figures,
      goals: [
        { goal: "the medians of ten chunks are at most 0.4 s", met: most("p50 10", 0.4) },
        { goal: "no queue has to bring any of their work", met: deliveries === 0 },
        { goal: "the medians of 10,000 chunks are at most 1.2 s", met: most("p50 10000", 1.2) },
        {
          goal: "10,000 chunks take 137 calls at most, polls of the host included",
          met: most("calls 10000", 137),
        },
      ],
    };
  },
};

async function measure({
  interval,
  runs,
  manyRuns,
}: Omit<(typeof hosts)[number], "polls">): Promise<Measured> {
  const app = await startRealApp({
    instances: 1,
    calculations: [chainFile],
    env: {
      // Ticks as in Azure: none of them is to find the run.
      LEASEFOLD_SCHEDULE: "0 0 * * * *",
      LEASEFOLD_WATCH: "false",
      AzureFunctionsJobHost__extensions__queues__maxPollingInterval: interval,
    },
  });
  const seconds: number[] = [];
  const manySeconds: number[] = [];
  const manyCalls: number[] = [];
  let deliveries = 0;
  try {
    for (let count = 0; count < runs + 1; count += 1) {
      // At any moment between two polls, as people do.
      await sleep(idleMs + ((count * 1_370) % 5_000));
      const before = deliveriesOf(app);
      const { took } = await runOverHttp(app, small);
      // The first run starts the threads.
      if (count === 0) continue;
      seconds.push(took);
      deliveries += deliveriesOf(app) - before;
    }
    for (let count = 0; count < manyRuns; count += 1) {
      await sleep(idleMs + ((count * 1_370) % 5_000));
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
  return { seconds, manySeconds, manyCalls, deliveries };
}

/** Messages of plans, packs and results that queues have brought so far; the clean-up comes after the result. */
const deliveriesOf = ({ events }: RealApp): number =>
  events.filter((one) => one.kind === "started" && one.function === "workerUrgent").length;

async function runOverHttp(
  { instances }: RealApp,
  { calculation, params, ...options }: typeof small | typeof many,
): Promise<{ readonly took: number; readonly run: string }> {
  const startedMs = performance.now();
  const url = `${instances.instances[0]?.httpUrl}/api`;
  const run = await connect({ url, key: instances.functionKey }).submit(calculation, params, options);
  let phase = "";
  for await (const view of run.watch()) ({ phase } = view);
  if (phase !== "complete") throw new Error(`the run is ${phase}`);
  return { took: (performance.now() - startedMs) / 1_000, run: run.id };
}
