import { randomUUID } from "node:crypto";
import type { Clock, Random } from "./ports.ts";

/** The machine's own clock: the only place that reads the time or sets a timer for those who take a `Clock`. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),

  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = () => {
        clearTimeout(timer);
        // A signal that outlives many sleeps must not collect their listeners.
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, timerMs(ms));
      signal?.addEventListener("abort", done);
    }),

  after: (ms, fire) => {
    const timer = setTimeout(fire, timerMs(ms)).unref();
    return () => clearTimeout(timer);
  },
};

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  number: () => Math.random(),
};

/** Node turns a delay past 2^31 - 1 ms (25 days) into 1 ms; such a timer waits as long as it can instead. */
const timerMs = (ms: number): number => Math.min(Math.max(0, ms), 2 ** 31 - 1);
