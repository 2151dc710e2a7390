import { app } from "@azure/functions";
import type { Lifecycle } from "./registerTriggers.ts";

/** Time for a leader to drain and release after a stop is requested; the host grants five seconds. */
const graceMs = 4_000;

/**
 * Watches for the end of the process: by the host's shutdown hook, and by SIGTERM, which the Node worker does not handle.
 * After SIGKILL the lease must expire.
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
    // If the host listens too, it ends the process; otherwise nobody else would.
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
