import { createInterface } from "node:readline";
import { importPeer } from "./installed.ts";
import { computeTask, type Task } from "./work.ts";

/**
 * A worker in a process of its own. `bullmq PORT CONCURRENCY` takes jobs from that Redis and prints `ready`; `lines` answers each
 * line of JSON, a task, by a line with its part, so that workers in Python compute with the same kernel.
 */
interface BullMq {
  readonly Worker: new (
    queue: string,
    work: (job: { readonly data: Task }) => Promise<unknown>,
    options: object,
  ) => { waitUntilReady(): Promise<unknown> };
}

const [mode, port, concurrency] = process.argv.slice(2);
if (mode === "lines") {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(computeTask(JSON.parse(line) as Task))}\n`);
  }
} else {
  const { Worker } = await importPeer<BullMq>("bullmq");
  const worker = new Worker("peers", async ({ data }) => computeTask(data), {
    connection: { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null },
    concurrency: Number(concurrency),
  });
  await worker.waitUntilReady();
  // It ends with the bench, however that ends.
  process.stdin.once("end", () => process.exit(0)).resume();
  console.log("ready");
}
