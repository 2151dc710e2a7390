import type { Client } from "../../src/client/client.ts";
import { coordinator } from "../../src/coordinator/tick.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { makeHostLog } from "../../src/local/host/hostLog.ts";
import { hostQueueTimings } from "../../src/local/host/queueDelivery.ts";
import { startQueueListener } from "../../src/local/host/queueTrigger.ts";
import { limits } from "../../src/model/limits.ts";
import { poisonOf } from "../../src/model/names.ts";
import type { TreeLimits } from "../../src/model/packs.ts";
import { callReport } from "../../src/worker/callReport.ts";
import { documents } from "../../src/worker/documents.ts";
import { handlePoison } from "../../src/worker/handlePoison.ts";
import { handleWork } from "../../src/worker/handleWork.ts";
import { markerWatch } from "../../src/worker/markerWatch.ts";
import type { Delivery, WorkerPorts } from "../../src/worker/ports.ts";
import { inlineCode } from "../worker/workerWorld.ts";
import { chain } from "./chain.ts";

/** One instance of the app in this very process, on whatever storage the client has: a test may stand in between. */
export interface InProcessApp {
  stop(): Promise<void>;
}

const maxDequeueCount = 2;

/** Leads, and computes the calculation `chain` in this thread. */
export function startInProcess(client: Client, { tree }: { readonly tree: TreeLimits }): InProcessApp {
  const { storage, names, clock, random } = client;
  const shared = { storage, names, clock, random, log: () => {}, packLimitMs: 60_000 };
  const leading = coordinator(
    { ...shared, onElection: () => {} },
    {
      holder: "here",
      election: electionSettings({ budgetMs: 300_000 }),
      loop: { loopMs: 500, fastLoopMs: 50 },
      keepDays: 0,
      packLimitMs: shared.packLimitMs,
    },
  );
  const worker: WorkerPorts = {
    ...{ ...shared, tree, userCode: inlineCode(chain), foldBytesMax: limits.foldBytesMax },
    documents: documents(storage.blobs, names),
    watch: markerWatch(storage.blobs, names, clock),
    report: callReport(storage.meter),
    versionOf: () => "test",
  };
  const listen = (queue: string, handle: (delivery: Delivery) => Promise<void>) =>
    startQueueListener({
      ...{ queue, clock, random, queues: storage.queues, encoding: "none", timings: hostQueueTimings },
      ...{ batchSize: 4, newBatchThreshold: 4, maxPollingIntervalMs: 200 },
      ...{ maxDequeueCount, visibilityTimeoutMs: 0, log: makeHostLog(() => {}) },
      async invoke({ text, dequeueCount: attempt }) {
        const last = attempt >= maxDequeueCount;
        try {
          await handle({ queue, text, attempt, last, urgent: queue === names.urgent });
          return true;
        } catch {
          return false;
        }
      },
    });
  const listeners = [names.packs, names.urgent].flatMap((queue) => [
    listen(queue, (delivery) => handleWork(worker, delivery)),
    listen(poisonOf(queue), (delivery) => handlePoison(worker, delivery)),
  ]);
  const stopping = new AbortController();
  const ticking = (async () => {
    while (!stopping.signal.aborted) {
      const startedAtMonotonicMs = clock.monotonicMs();
      await leading.tick({ startedBy: "tick", startedAtMonotonicMs, stopping: stopping.signal });
      await clock.sleep(100, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await Promise.all([ticking, ...listeners.map((listener) => listener.stop())]);
    },
  };
}
