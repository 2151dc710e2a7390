import { handleWork } from "../../../src/engine/worker/handleWork.ts";
import { makeHostLog } from "../../../src/host/hostLog.ts";
import { startQueueListener } from "../../../src/host/queueTrigger.ts";
import type { Instance } from "./platform.ts";
import { type WorkerOptions, workerPorts } from "./workerPorts.ts";

/** The app's own worker under the embedded host's queue listeners: what `thinWorker` is held to. */
export function hostedWorker(options: WorkerOptions): Instance {
  const { storage, names, clock, random, takes } = options;
  const ports = workerPorts(options);
  let running = 0;
  const listeners = (options.listens ?? [names.urgent, names.packs]).map((queue) =>
    startQueueListener({
      ...{ queue, clock, random, queues: storage.queues },
      ...{ batchSize: 1, newBatchThreshold: takes - 1, maxPollingIntervalMs: 2_000 },
      ...{ maxDequeueCount: 5, visibilityTimeoutMs: 30_000, log: makeHostLog(() => {}) },
      async invoke({ text, dequeueCount: attempt }) {
        running += 1;
        try {
          await handleWork(ports, {
            queue,
            text,
            attempt,
            urgent: queue === names.urgent,
          });
          return true;
        } catch {
          return false;
        } finally {
          running -= 1;
        }
      },
    }),
  );
  return {
    idle: () => running === 0,
    stop() {
      for (const listener of listeners) void listener.stop();
    },
  };
}
