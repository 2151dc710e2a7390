import { randomUUID } from "node:crypto";
import type { Clock, Random } from "./ports.ts";

/** What a call throws when the caller's own signal ended it: always of this name, whatever the signal's reason was. */
export function abortError(cause?: unknown): Error {
  const error = new Error("the caller's signal ended this storage call", { cause });
  error.name = "AbortError";
  return error;
}

export const isAbortError = (error: unknown): boolean =>
  error instanceof Error && error.name === "AbortError";

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal.reason);
}

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
