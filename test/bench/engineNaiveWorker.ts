import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { runCompute } from "../../src/engine/calculation/runJob.ts";
import { chain } from "../support/chain.ts";
import { batchSize, type NaivePlaces, nameOf } from "./engineNaive.ts";

/**
 * A worker of the naive shape: takes as many messages as a Functions host does by default, computes their chunks side
 * by side, and writes a blob for each. Ends when it is told to, and answers with what it has called.
 */
const { connectionString, container, queue, params, count } = workerData as NaivePlaces;
const { blobs, queues, meter } = connectStorage({ connectionString });
let ended = false;
parentPort?.once("message", () => {
  ended = true;
});
parentPort?.postMessage("ready");
while (!ended) {
  const messages = await queues.receive(queue, { max: batchSize, visibilityS: 600 });
  if (messages.length === 0) await sleep(100);
  await Promise.all(
    messages.map(async ({ text, id, popReceipt }) => {
      const { chunk } = JSON.parse(text) as { chunk: number };
      const part = await runCompute(chain, { params, from: chunk, to: chunk + 1, count });
      await blobs.create(container, nameOf(chunk), part);
      await queues.remove(queue, id, popReceipt);
    }),
  );
}
parentPort?.postMessage(meter.counts());
