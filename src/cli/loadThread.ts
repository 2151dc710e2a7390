import { parentPort, workerData } from "node:worker_threads";
import { resolveLeasefold } from "../calculations/moduleGraph.ts";

/** The entry of the thread that tries whether files of calculations end loading. */
export interface LoadThreadData {
  /** URLs of the user's files. */
  readonly urls: readonly string[];
}

async function main({ urls }: LoadThreadData): Promise<void> {
  resolveLeasefold();
  for (const url of urls) {
    // The process that loads it next tells why it does not load.
    await import(url).catch(() => {});
    parentPort?.postMessage(url);
  }
}

void main(workerData as LoadThreadData);
