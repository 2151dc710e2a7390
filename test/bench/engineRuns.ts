import { setTimeout as sleep } from "node:timers/promises";
import { beginsWork } from "../../packages/cli/demo/instanceTrack.ts";
import type { RunView } from "../../src/engine/client/runView.ts";
import { addCalls, type CallCounts, calls, noCalls, subtractCalls } from "../../src/engine/model/calls.ts";
import { chainFile, serialChain } from "../support/chain.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";
import { othersDuring } from "./cpu.ts";
import { runUntilManifest } from "./runUntilManifest.ts";

/** Runs of the calculation `chain` on the built app in real processes, timed and counted. */
export interface TimedRun {
  /** From submit until the manifest can be read. */
  readonly seconds: number;
  readonly view: RunView;
  /** Of the leader, the workers and the host around them: everything that an account would be billed for. */
  readonly calls: CallCounts;
  /** CPU time of the emulator as a share of one core, which is all it can use; NaN where the system does not tell. */
  readonly azuriteShare: number;
  /** Share of all cores that processes other than these took meanwhile: what was missing for a quiet machine. */
  readonly othersShare: number;
  /** The result has the very bytes that one loop over all chunks gives. */
  readonly exact: boolean;
}

/** The app's own settings as in Azure, instead of the quicker ones of embedded instances. */
export const asInAzure: Readonly<Record<string, string>> = {
  LEASEFOLD_SCHEDULE: "0 * * * * *",
  LEASEFOLD_LOOP_MS: "2000",
  LEASEFOLD_WATCH: "false",
  AzureFunctionsJobHost__extensions__queues__maxPollingInterval: "00:00:05",
};

/** Instances that have loaded the calculation and started their threads. */
export async function startChainApp(
  instances: number,
  env: Readonly<Record<string, string>> = {},
): Promise<RealApp> {
  const app = await startRealApp({ instances, calculations: [chainFile], env });
  try {
    await timedRun(app, { chunks: 8 * instances, packSize: 1 });
    return app;
  } catch (error) {
    await app.stop();
    throw error;
  }
}

export interface ChainRequest {
  readonly chunks: number;
  readonly packSize: number;
  readonly ms?: number;
}

/** The same run so many times, on two instances of their own. */
export async function chainRuns(
  env: Readonly<Record<string, string>>,
  times: number,
  request: ChainRequest,
): Promise<TimedRun[]> {
  const app = await startChainApp(2, env);
  try {
    const runs: TimedRun[] = [];
    while (runs.length < times) runs.push(await timedRun(app, request));
    const wrong = runs.find((run) => !run.exact);
    if (wrong !== undefined) throw new Error(`${wrong.view.run} has another result than one loop`);
    return runs;
  } finally {
    await app.stop();
  }
}

export async function timedRun(app: RealApp, { packSize, ...params }: ChainRequest): Promise<TimedRun> {
  const hostBefore = hostCalls(app);
  const others = othersDuring([
    app.azuritePid,
    process.pid,
    ...app.instances.instances.map(({ pid = 0 }) => pid),
  ]);
  const { run, seconds } = await runUntilManifest(app, { calculation: "chain", params, packSize });
  const { spentS, share: othersShare } = others();
  const view = await app.until(run, (one) => !one.active);
  const exact = (await app.result(run)) === (await serialChain(params.chunks));
  // Instances tell what their host has called once a second.
  await sleep(1_100);
  const billed = addCalls(view.calls, subtractCalls(hostCalls(app), hostBefore));
  return { seconds, view, calls: billed, azuriteShare: (spentS[0] ?? 0) / seconds, othersShare, exact };
}

/** Polls and renewals by the hosts of all instances, as they last told; the status counts how they get and delete messages. */
export function hostCalls(app: RealApp): CallCounts {
  const latest = new Map<string, CallCounts>();
  for (const event of app.events) if (event.kind === "stats") latest.set(event.instance, event.hostCalls);
  const messages = app.events.filter(beginsWork).length;
  return subtractCalls([...latest.values()].reduce(addCalls, noCalls), calls({ queue: 2 * messages }));
}
