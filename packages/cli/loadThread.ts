import { parentPort, workerData } from "node:worker_threads";
import { resolveLeasefold } from "../../src/engine/calculation/moduleGraph.ts";

/** The entry of the thread that tries whether files of calculations end loading. Its data are their URLs. */
async function main(urls: readonly string[]): Promise<void> {
  resolveLeasefold();
  for (const url of urls) {
    // The process that loads it next tells why it does not load.
    await import(url).catch(() => {});
    parentPort?.postMessage(url);
  }
}

void main(workerData as readonly string[]);
