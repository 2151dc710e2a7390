import { app } from "@azure/functions";
import type { Lifecycle } from "./registerTriggers.ts";

/**
 * Times from the request of a stop, and one after it; the host grants five seconds. A leader hands over at once. Work that
 * still computes after `workMs` is stopped, which enqueues it again. The worker process ends with its hooks, so the
 * answers of the invocations need `answersMs` to reach the host.
 */
const grace = { workMs: 2_000, allMs: 4_000, leaveMs: 500, answersMs: 100 };

/**
 * Watches for the end of the process: by the host's shutdown hook, and by SIGTERM, which the Node worker does not handle.
 * After SIGKILL the lease must expire, and packs in flight are resent.
 */
export function watchLifecycle({
  stopWork,
  leave,
}: {
  /** Ends what still computes. */
  readonly stopWork: () => Promise<void>;
  /** The last thing that is done. */
  readonly leave: () => Promise<void>;
}): Lifecycle & { lastTickAgeMs(): number | undefined } {
  const stop = new AbortController();
  const running = new Set<Promise<unknown>>();
  let tickedAtMs: number | undefined;

  const drain = async (): Promise<void> => {
    stop.abort();
    const ended = Promise.allSettled(running);
    const stopping = setTimeout(() => stopWork().catch(() => {}), grace.workMs).unref();
    await Promise.race([ended, after(grace.allMs)]);
    clearTimeout(stopping);
    await Promise.race([leave().catch(() => {}), after(grace.leaveMs)]);
    await after(grace.answersMs);
  };
  app.hook.appTerminate(drain);
  process.once("SIGTERM", () => {
    // If the host listens too, it ends the process; otherwise nobody else would.
    const alone = process.listenerCount("SIGTERM") === 0;
    drain().finally(() => alone && process.exit(143));
  });

  return {
    stopping: stop.signal,
    async during(handle) {
      const work = handle();
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

const after = (ms: number) => new Promise<void>((done) => setTimeout(done, ms).unref());
