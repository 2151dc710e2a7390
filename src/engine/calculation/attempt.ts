import { AsyncLocalStorage } from "node:async_hooks";
import type { AttemptTime } from "./contract.ts";

const attempts = new AsyncLocalStorage<AttemptTime>();

/** Runs work of which every step, and all that it awaits, knows its time. */
export const withinAttempt = <T>(time: AttemptTime, run: () => Promise<T>): Promise<T> =>
  attempts.run(time, run);

/** The time of the attempt in which this code runs; absent where nothing limits it. */
export const attemptTime = (): AttemptTime | undefined => attempts.getStore();
