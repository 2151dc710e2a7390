import type { AnyCalculation } from "../../calculations/contract.ts";
import type { Calculations } from "../../calculations/registry.ts";
import type { Client } from "../../client/client.ts";
import { ensureContainersAndQueues } from "../../client/containersAndQueues.ts";
import { failures } from "../../client/failures.ts";
import { findManifest } from "../../client/result.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { coordinator } from "../../coordinator/tick.ts";
import { electionSettings } from "../../election/settings.ts";
import { makeHostLog } from "../../local/host/hostLog.ts";
import { hostQueueTimings } from "../../local/host/queueDelivery.ts";
import { startQueueListener } from "../../local/host/queueTrigger.ts";
import { limits } from "../../model/limits.ts";
import { namesOf, poisonOf } from "../../model/names.ts";
import type { TreeLimits } from "../../model/packs.ts";
import { memoryStorage } from "../../storage/memory/memoryStorage.ts";
import type { Clock, Random } from "../../storage/ports.ts";
import { handlePoison, handleWork } from "../../worker/handleWork.ts";
import type { Delivery, WorkerPorts } from "../../worker/ports.ts";
import { processState } from "../../worker/processState.ts";
import type { UserCode } from "../../worker/threads/userCode.ts";

export type TwinEnd =
  | { readonly kind: "result"; readonly body: Uint8Array; readonly packs: number }
  /** `message` of the first failure. */
  | { readonly kind: "failed"; readonly message: string };

/** So small that a few dozen packs already make shards, nodes and nodes of nodes. */
const tree: TreeLimits = { directPacksMax: 4, shardPacksMax: 4, fanIn: 2 };
const packsWanted = 24;
const id = "check";

/**
 * Runs the first chunks of a calculation as in production: submitted, led by the real coordinator and computed by the
 * real worker, in this process and on the in-memory twin of a storage account.
 */
export async function twinRun(run: {
  readonly calculation: string;
  readonly params: unknown;
  /** As the serial run had them. */
  readonly chunks: number;
  readonly code: UserCode;
  readonly clock: Clock;
  readonly random: Random;
  readonly packLimitMs: number;
  readonly signal: AbortSignal;
}): Promise<TwinEnd> {
  const { clock, random, packLimitMs, signal } = run;
  const storage = memoryStorage({ clock, random });
  const names = namesOf(id);
  const client: Client = { storage, names, clock, random, calculations: only(run.calculation, run.params) };
  await ensureContainersAndQueues(client);

  const userCode = firstChunks(run.code, run.chunks);
  const app = startAppInProcess(
    client,
    { userCode, tree, versionOf: () => id, packLimitMs },
    { atOnce: 1, pollMs: 20, loop: { loopMs: 50, fastLoopMs: 20 } },
  );
  try {
    const packSize = Math.max(1, Math.ceil(run.chunks / packsWanted));
    await submit(client, { calculation: run.calculation, id, packSize });
    return await ended(client, signal);
  } finally {
    await app.stop();
  }
}

async function ended(client: Client, signal: AbortSignal): Promise<TwinEnd> {
  for (;;) {
    signal.throwIfAborted();
    const view = await status(client, id);
    if (!view.active && view.phase === "complete") {
      const manifest = await findManifest(client, id);
      const found = await client.storage.blobs.read(client.names.results, manifest.blob);
      if (found.kind === "missing") return { kind: "failed", message: "the result is gone" };
      return { kind: "result", body: found.body, packs: manifest.packs };
    }
    if (!view.active) {
      const [first] = (await failures(client, id, { max: 1 })).failures;
      return { kind: "failed", message: first?.message ?? view.error?.message ?? view.word };
    }
    await client.clock.sleep(10, signal);
  }
}

/** A run of the first chunks as though the others had failed and were tolerated: `count` stays that of the plan. */
function firstChunks(code: UserCode, chunks: number): UserCode {
  let count = chunks;
  return {
    async plan(job, sink, task) {
      let from = 0;
      const planned = await code.plan(
        job,
        async (inputs) => {
          const wanted = inputs.slice(0, Math.max(0, chunks - from));
          from += inputs.length;
          if (wanted.length > 0) await sink(wanted);
        },
        task,
      );
      count = planned.chunks;
      return { ...planned, chunks: Math.min(chunks, planned.chunks) };
    },
    compute: (job, task) => code.compute({ ...job, count }, task),
    fold: (job, task) => code.fold(job, task),
    finish: (job, task) => code.finish({ ...job, count }, task),
    stop: () => code.stop(),
  };
}

/** The calculation was loaded and its parameters were parsed in a thread of their own. */
function only(name: string, params: unknown): Calculations {
  return {
    list: () => [],
    get: () => ({ name }) as AnyCalculation,
    versionOf: () => id,
    parseParams: () => params,
    describeParams: () => [],
  };
}

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
    ...processState({ storage, names, clock }),
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
