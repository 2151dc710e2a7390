import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Case, CaseDone } from "./simulationWorker.ts";

/** Compiled code is not kept: `simulationCode` gives its files other names in each run, so nothing would ever read it. */
const { NODE_COMPILE_CACHE: _, ...env } = process.env;

/**
 * Runs cases on worker threads, in their order but several at a time, until none is left or `enough`
 * says so after one. `code` is a file made by `simulationCode`.
 */
export async function runCases<OneCase = Case, Done = CaseDone>(
  code: string,
  cases: Iterable<OneCase>,
  options: { readonly threads: number; enough(done: Done): boolean },
): Promise<void> {
  const left = cases[Symbol.iterator]();
  let stop = false;
  const oneThread = async (): Promise<void> => {
    let next = left.next();
    // A thread takes longer to start than a case to play: none is started for nothing.
    if (stop || next.done === true) return;
    const worker = new Worker(code, { env });
    try {
      for (; !stop && next.done !== true; next = left.next()) {
        worker.postMessage(next.value);
        const [done] = (await once(worker, "message")) as [Done];
        if (options.enough(done)) stop = true;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: options.threads }, oneThread));
}
