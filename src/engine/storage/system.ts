import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock, Random } from "./ports.ts";

/** The error of a call that the caller's own signal ended: always of this name, whatever the signal's reason. */
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

/** The machine's own clock, for everything that takes a `Clock`. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),

  sleep: (ms, signal) => pause(timerMs(ms), undefined, { signal }).catch(() => undefined),

  after: (ms, fire) => {
    const timer = setTimeout(fire, timerMs(ms)).unref();
    return () => clearTimeout(timer);
  },
};

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  number: () => Math.random(),
};

/** Does one thing after the other, in the order of the calls, also after one that failed. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

/** Node turns a delay past 2^31 - 1 ms (25 days) into 1 ms; such a timer waits as long as it can instead. */
const timerMs = (ms: number): number => Math.min(Math.max(0, ms), 2 ** 31 - 1);

/**
 * Collects garbage and gives its pages back, for a process that is about to rest: V8 collects as long as memory is allocated, and
 * what start and work have left stays resident. This thread stands still meanwhile, for a fraction of a second.
 */
export function shrinkHeap(): void {
  // Only a new context gets the function, and no later one, where user code may run.
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
