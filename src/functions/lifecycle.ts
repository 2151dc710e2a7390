import { app } from "@azure/functions";
import type { Lifecycle } from "./registerTriggers.ts";

/** Time for a leader to drain and release once the process is to stop; the host gives five seconds. */
const graceMs = 4_000;

/**
 * Watches for the end of the process. Both ways are needed: the host's shutdown hook, and SIGTERM, which the Node
 * worker does not handle at all. After SIGKILL nothing is left but the end of the lease.
 */
export function watchLifecycle(): Lifecycle & { lastTickAgeMs(): number | undefined } {
  const stop = new AbortController();
  const running = new Set<Promise<unknown>>();
  let tickedAtMs: number | undefined;

  const drain = async (): Promise<void> => {
    stop.abort();
    await Promise.race([
      Promise.allSettled(running),
      new Promise((done) => setTimeout(done, graceMs).unref()),
    ]);
  };
  app.hook.appTerminate(drain);
  process.once("SIGTERM", () => {
    // Where the host listens too, the exit is its business; alone, nobody else would end the process.
    const alone = process.listenerCount("SIGTERM") === 0;
    drain().finally(() => alone && process.exit(143));
  });

  return {
    stopping: stop.signal,
    async during(tick) {
      const work = tick();
      running.add(work);
      try {
        return await work;
      } finally {
        running.delete(work);
      }
    },
    ticked() {
      tickedAtMs = performance.now();
    },
    lastTickAgeMs: () => (tickedAtMs === undefined ? undefined : performance.now() - tickedAtMs),
  };
}
