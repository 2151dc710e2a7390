import { constants } from "node:os";
import { app } from "@azure/functions";
import type { Lifecycle } from "./registerTriggers.ts";

/**
 * Times from the request of a stop, and one after it; the host grants five seconds. A leader hands over at once. Work that
 * still computes after `workMs` is stopped, which enqueues it again. The worker process ends with its hooks, so the
 * answers of the invocations need `answersMs` to reach the host.
 */
const grace = { workMs: 2_000, allMs: 4_000, leaveMs: 500, answersMs: 100 };

/**
 * Watches for the end of the process: by the host's shutdown hook, and by signals, which the Node worker does not handle. Ctrl-C
 * reaches the worker at the same time as the host. After SIGKILL the lease must expire, and packs in flight are resent.
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
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      // If another listens too, it ends the process; otherwise nobody else would. What Ctrl-C means is then decided by that one.
      const isAlone = process.listenerCount(signal) === 0;
      if (!isAlone && signal === "SIGINT") return;
      drain().finally(() => isAlone && process.exit(128 + constants.signals[signal]));
    });
  }

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
