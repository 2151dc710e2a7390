import { AsyncLocalStorage } from "node:async_hooks";
import type { AttemptTime } from "./contract.ts";

const attempts = new AsyncLocalStorage<AttemptTime>();

/** Runs work of which every step, and all that it awaits, knows its time. */
export const withinAttempt = <T>(time: AttemptTime, run: () => Promise<T>): Promise<T> =>
  attempts.run(time, run);

/** The time of the attempt in which this code runs; absent where nothing limits it. */
export const attemptTime = (): AttemptTime | undefined => attempts.getStore();

const chunks = new AsyncLocalStorage<number>();

/** Computes a chunk of which every step, and all that it awaits, knows the index. */
export const withinChunk = <T>(index: number, compute: () => Promise<T>): Promise<T> =>
  chunks.run(index, compute);

/** Runs what belongs to no chunk, though one has called it. */
export const outsideChunks = <T>(run: () => T): T => chunks.exit(run);

/** The chunk in which this code runs; absent outside of any. */
export const chunkNow = (): number | undefined => chunks.getStore();

/**
 * Memory that a thread may hold outside its heap beyond its limit: the partials of one fold (`limits.foldBytesMax`), and
 * as much again that V8 does not collect before it has grown by that.
 */
export const threadSpareMb = 128;
