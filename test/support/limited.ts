import { ThreadEndedError } from "../../src/engine/model/chunkErrors.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import type { Clock } from "../../src/engine/storage/ports.ts";

export interface Told {
  /** The chunk that the thread came to, which it never ends. */
  readonly doomedAt: (chunk: number) => void;
}

/** Ends at the limit or with the signal, as a thread is ended; what it was doing is left where it is. */
export function limited<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (ended: AbortSignal, told: Told) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  let at: number | undefined;
  return new Promise((resolve, reject) => {
    const end = (error: unknown): void => {
      reject(error);
      ended.abort();
    };
    const unwanted = (): void => end(signal?.reason);
    signal?.addEventListener("abort", unwanted);
    const takeBack = clock.after(limitMs, () => {
      const late = new CalculationError("time-limit", `the time limit of ${limitMs / 1_000} s is past`);
      end(at === undefined ? late : new ThreadEndedError(late, at));
    });
    const doomedAt = (chunk: number): void => {
      at = chunk;
    };
    void work(ended.signal, { doomedAt })
      .then(resolve, reject)
      .finally(() => {
        ended.abort();
        takeBack();
        signal?.removeEventListener("abort", unwanted);
      });
  });
}
