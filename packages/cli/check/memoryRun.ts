import { electionSettings } from "../../../src/election/settings.ts";
import type { AnyCalculation, Calculations } from "../../../src/engine/calculation/contract.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { ensureContainersAndQueues } from "../../../src/engine/client/containersAndQueues.ts";
import { failures } from "../../../src/engine/client/failures.ts";
import { findManifest } from "../../../src/engine/client/result.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { Coordinator } from "../../../src/engine/leader/tick.ts";
import { CalculationError, laterCode } from "../../../src/engine/model/errors.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import type { TreeLimits } from "../../../src/engine/model/packs.ts";
import { memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { Clock, Random } from "../../../src/engine/storage/ports.ts";
import { handleWork } from "../../../src/engine/worker/handleWork.ts";
import type { Delivery, WorkerPorts } from "../../../src/engine/worker/ports.ts";
import { processState } from "../../../src/engine/worker/processState.ts";
import type { UserCode } from "../../../src/engine/worker/threads/userCode.ts";
import { makeHostLog } from "../../../src/host/hostLog.ts";
import { startQueueListener } from "../../../src/host/queueTrigger.ts";

export type MemoryRunEnd =
  | { readonly kind: "result"; readonly body: Uint8Array; readonly packs: number }
  /** `message` is that of the first failure. */
  | { readonly kind: "failed"; readonly message: string };

/** Small enough for a few dozen packs to make shards, nodes and nodes of nodes. */
const tree: TreeLimits = { directPacksMax: 4, shardPacksMax: 4, fanIn: 2 };
const packsWanted = 24;
const id = "check";

/** Runs the first chunks of a calculation with the real coordinator and worker, in this process and on in-memory storage. */
export async function memoryRun(run: {
  readonly calculation: string;
  readonly params: unknown;
  /** As the serial run had them. */
  readonly chunks: number;
  /** Of these, how many threw; the run tolerates as many. */
  readonly threw?: number;
  readonly code: UserCode;
  readonly clock: Clock;
  readonly random: Random;
  readonly packLimitMs: number;
  readonly signal: AbortSignal;
}): Promise<MemoryRunEnd> {
  const { calculation, chunks, threw = 0, clock, random, packLimitMs } = run;
  const storage = memoryStorage({ clock, random });
  const calculations = onlyCalculation(calculation, run.params);
  const client: Client = { storage, names: namesOf(id), clock, random, calculations };
  await ensureContainersAndQueues(client);
  const app = startAppInProcess(
    client,
    { userCode: firstChunks(run.code, chunks), tree, versionOf: () => id, packLimitMs },
    { atOnce: 1, pollMs: 20, loop: { loopMs: 50, fastLoopMs: 20 } },
  );
  try {
    const packSize = Math.max(1, Math.ceil(chunks / packsWanted));
    const gaps = threw === 0 ? {} : { tolerate: { chunks: threw }, attempts: 1 };
    await submit(client, { calculation, id, packSize, retryAfterS: [0], ...gaps });
    return await untilEnded(client, run.signal);
  } finally {
    await app.stop();
  }
}

async function untilEnded(client: Client, signal: AbortSignal): Promise<MemoryRunEnd> {
  let view = await status(client, id);
  while (view.active) {
    signal.throwIfAborted();
    await client.clock.sleep(10, signal);
    view = await status(client, id);
  }
  if (view.phase !== "complete") {
    const [first] = (await failures(client, id, { max: 1 })).failures;
    return { kind: "failed", message: first?.message ?? view.error?.message ?? view.word };
  }
  const manifest = await findManifest(client, id);
  const found = await client.storage.blobs.read(client.names.results, manifest.blob);
  if (found.kind === "missing") return { kind: "failed", message: "the result is gone" };
  return { kind: "result", body: found.body, packs: manifest.packs };
}

/** Plans only the first chunks. User code still sees the `count` of the whole plan, as if the others had failed and were tolerated. */
function firstChunks(code: UserCode, chunks: number): UserCode {
  let count = chunks;
  return {
    ...code,
    async plan(work, sink, task) {
      let from = 0;
      const firstInputs: typeof sink = async (inputs) => {
        const wanted = inputs.slice(0, Math.max(0, chunks - from));
        from += inputs.length;
        if (wanted.length > 0) await sink(wanted);
      };
      // The serial run has all of these chunks: prefixes of them are not those of the plan.
      const { stops: _, ...planned } = await code.plan(work, firstInputs, task);
      count = planned.chunks;
      return { ...planned, chunks: Math.min(chunks, planned.chunks) };
    },
    // Nothing waits for what a chunk asks for.
    compute({ gaps, ...work }, task) {
      const allowed = gaps && { ...gaps, asksOver: true };
      return code.compute({ ...work, count, gaps: allowed }, task).catch((error: unknown) => {
        const asks = error instanceof CalculationError && error.code === laterCode;
        throw asks ? new CalculationError("calculation-threw", error.message) : error;
      });
    },
    finish: (work, task) => code.finish({ ...work, count }, task),
  };
}

/** A registry of one name, as only a thread has loaded the calculation and parsed its parameters. */
const onlyCalculation = (name: string, params: unknown): Calculations => ({
  list: () => [],
  get: () => ({ name }) as AnyCalculation,
  versionOf: () => id,
  parseParams: () => params,
  describeParams: () => [],
});

/** One instance of the app in this process, on the client's storage. Leads and works until `stop`. */
export function startAppInProcess(
  { storage, names, clock, random }: Client,
  code: Pick<WorkerPorts, "userCode" | "tree" | "versionOf" | "packLimitMs">,
  pace: {
    /** Concurrent messages of one queue. */
    readonly atOnce: number;
    /** Between two polls of an empty queue, and between two ticks. */
    readonly pollMs: number;
    readonly loop: { readonly loopMs: number; readonly fastLoopMs: number };
  },
): { stop(): Promise<void> } {
  const shared = { storage, names, clock, random, log: () => {} };
  const leading = new Coordinator(
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
    ...shared,
    ...code,
    foldBytesMax: limits.foldBytesMax,
    endRetryMs: limits.endRetryMs,
    ...processState(shared, {
      instance: "in-process",
      threads: pace.atOnce,
      version: "",
      codes: [],
      memoryMb: () => 0,
    }),
  };
  const listen = (queue: string, handle: (delivery: Delivery) => Promise<void>) =>
    startQueueListener({
      queue,
      clock,
      random,
      queues: storage.queues,
      batchSize: pace.atOnce,
      newBatchThreshold: pace.atOnce,
      maxPollingIntervalMs: pace.pollMs,
      maxDequeueCount: 5,
      visibilityTimeoutMs: 0,
      log: makeHostLog(() => {}),
      invoke: ({ text, dequeueCount: attempt }) =>
        handle({ queue, text, attempt, urgent: queue === names.urgent }).then(
          () => true,
          () => false,
        ),
    });
  const listeners = [names.packs, names.urgent].map((queue) =>
    listen(queue, (delivery) => handleWork(worker, delivery)),
  );
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
