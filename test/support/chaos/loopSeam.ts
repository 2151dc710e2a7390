import { openSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded by `--import` before an instance's own code, in tests only: SIGUSR2 blocks the event loop for
 * `LEASEFOLD_TEST_BLOCK_MS`, as a calculation's code on the main thread or a machine without a free core would. With
 * `LEASEFOLD_TEST_LEAK` the process keeps 2 MB and a file more each second, for a check that has to see it.
 */
const { LEASEFOLD_TEST_BLOCK_MS: blockMs = "0", LEASEFOLD_TEST_LEAK: leak } = process.env;
if (isMainThread) {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  process.on("SIGUSR2", () => void Atomics.wait(pause, 0, 0, Number(blockMs)));
  const kept: unknown[] = [];
  const keep = (): void => void kept.push(Buffer.alloc(2 ** 21, 1), openSync("/dev/null", "r"));
  if (leak !== undefined) setInterval(keep, 1_000).unref();
}
