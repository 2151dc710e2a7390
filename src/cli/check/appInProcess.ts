import type { Client } from "../../client/client.ts";
import { coordinator } from "../../coordinator/tick.ts";
import { electionSettings } from "../../election/settings.ts";
import { makeHostLog } from "../../local/host/hostLog.ts";
import { hostQueueTimings } from "../../local/host/queueDelivery.ts";
import { startQueueListener } from "../../local/host/queueTrigger.ts";
import { limits } from "../../model/limits.ts";
import { poisonOf } from "../../model/names.ts";
import { callReport } from "../../worker/callReport.ts";
import { documents } from "../../worker/documents.ts";
import { handlePoison } from "../../worker/handlePoison.ts";
import { handleWork } from "../../worker/handleWork.ts";
import { markerWatch } from "../../worker/markerWatch.ts";
import type { Delivery, WorkerPorts } from "../../worker/ports.ts";

/**
 * One instance of the app in this very process, on whatever storage the client has: it ticks, leads and works until
 * it is told to stop.
 */
export function startAppInProcess(
  { storage, names, clock, random }: Client,
  code: Pick<WorkerPorts, "userCode" | "tree" | "versionOf" | "packLimitMs">,
  pace: {
    /** Messages of one queue that are worked on side by side. */
    readonly atOnce: number;
    /** Between two looks at an empty queue, and between two ticks. */
    readonly pollMs: number;
    readonly loop: { readonly loopMs: number; readonly fastLoopMs: number };
  },
): { stop(): Promise<void> } {
  const shared = { storage, names, clock, random, log: () => {} };
  const leading = coordinator(
    { ...shared, onElection: () => {} },
    {
      holder: "in-process",
      election: electionSettings({ budgetMs: 3_600_000 }),
      loop: pace.loop,
      keepDays: 0,
      packLimitMs: code.packLimitMs,
    },
  );
  const worker: WorkerPorts = {
    ...{ ...shared, ...code, foldBytesMax: limits.foldBytesMax, endRetryMs: limits.endRetryMs },
    documents: documents(storage.blobs, names),
    watch: markerWatch(storage.blobs, names, clock),
    report: callReport(storage.meter),
  };
  const listen = (queue: string, handle: (delivery: Delivery) => Promise<void>) =>
    startQueueListener({
      ...{ queue, clock, random, queues: storage.queues, encoding: "none", timings: hostQueueTimings },
      ...{ batchSize: pace.atOnce, newBatchThreshold: pace.atOnce, maxPollingIntervalMs: pace.pollMs },
      ...{ maxDequeueCount: 5, visibilityTimeoutMs: 0, log: makeHostLog(() => {}) },
      async invoke({ text, dequeueCount: attempt }) {
        return handle({ queue, text, attempt, urgent: queue === names.urgent }).then(
          () => true,
          () => false,
        );
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
      await clock.sleep(pace.pollMs, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await Promise.all([ticking, ...listeners.map((listener) => listener.stop())]);
    },
  };
}
