import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { runFinish } from "../../src/engine/calculation/runJob.ts";
import { addCalls, type CallCounts } from "../../src/engine/model/calls.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { startAzurite } from "../../src/tools/local/azurite.ts";
import { chain, serialChain } from "../support/chain.ts";
import { chunkParts } from "../support/coveringParts.ts";
import { cpuSecondsOf } from "./cpu.ts";

/**
 * The shape that most people build first: one message and one blob for each chunk, and a leader that lists the blobs
 * until all are there and then reads them all. Nothing is done twice, nothing is retried, nothing is cleaned up and
 * there is no election, so it is as cheap as that shape can be.
 */
export interface NaiveRun {
  readonly seconds: number;
  readonly calls: CallCounts;
  /** As of `TimedRun`. */
  readonly azuriteShare: number;
}

export interface NaivePlaces {
  readonly connectionString: string;
  readonly container: string;
  readonly queue: string;
  readonly params: unknown;
  readonly count: number;
}

/** The Functions host's default. */
export const batchSize = 16;
export const nameOf = (chunk: number): string => `results/${String(chunk).padStart(8, "0")}`;

const workers = 2;
const lookEveryMs = 2_000;
const atOnce = 32;

export async function naiveRun(count: number): Promise<NaiveRun> {
  const { connectionString, pid, stop } = await startAzurite();
  const running: Worker[] = [];
  try {
    const params = chain.params.parse({ chunks: count });
    const places: NaivePlaces = { connectionString, container: "naive", queue: "naive", params, count };
    const { blobs, queues, meter } = connectStorage({ connectionString });
    await blobs.ensureContainer(places.container);
    await queues.ensureQueue(places.queue);
    const started = Array.from({ length: workers }, async () => {
      const worker = new Worker(new URL("./engineNaiveWorker.ts", import.meta.url), { workerData: places });
      running.push(worker);
      await once(worker, "message");
    });
    await Promise.all(started);

    const cpuBefore = cpuSecondsOf(pid);
    const startedMs = performance.now();
    await sideBySide(count, async (chunk) => {
      await queues.send(places.queue, JSON.stringify({ chunk }));
    });
    while ((await listed(blobs, places.container)) < count) await sleep(lookEveryMs);
    const parts: Uint8Array[] = [];
    await sideBySide(count, async (chunk) => {
      const found = await blobs.read(places.container, nameOf(chunk));
      if (found.kind === "found") parts[chunk] = found.body;
    });
    const { body } = await runFinish(chain, { params, parts: chunkParts(parts), folded: count, count });
    const seconds = (performance.now() - startedMs) / 1000;
    const azuriteShare = (cpuSecondsOf(pid) - cpuBefore) / seconds;
    if (Buffer.from(body).toString() !== (await serialChain(count)))
      throw new Error("the naive result is wrong");

    const told = await Promise.all(
      running.map(async (worker) => {
        const answer = once(worker, "message");
        worker.postMessage("end");
        return (await answer)[0] as CallCounts;
      }),
    );
    return { seconds, azuriteShare, calls: told.reduce(addCalls, meter.counts()) };
  } finally {
    await Promise.all(running.map((worker) => worker.terminate()));
    await stop();
  }
}

async function listed(blobs: BlobStore, container: string): Promise<number> {
  let found = 0;
  let cursor: string | undefined;
  do {
    const page = await blobs.list(container, "results/", { cursor });
    found += page.blobs.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

async function sideBySide(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, some));
}
