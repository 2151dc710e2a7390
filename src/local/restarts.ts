import type { Clock } from "../storage/ports.ts";

/** Pause before the first start after an end; each further end in a row doubles it, up to the longest. */
const firstMs = 1_000;
const longestMs = 30_000;
/** An instance that ran for so long has got over what ended it. */
const calmMs = 60_000;

/** What an instance that ended by itself waits for. */
export interface Down {
  readonly reason: string;
  /** Ends in a row, the first included. */
  readonly ends: number;
}

/**
 * How long an instance that ended by itself waits for its next start, which it always gets: what ended it may be gone
 * by then.
 */
export interface Restarts {
  /** Set from an end until it runs again. */
  readonly down: Down | undefined;
  runs(): void;
  /** Gives the pause in ms. */
  ended(reason: string): number;
}

export function makeRestarts(clock: Pick<Clock, "monotonicMs">): Restarts {
  let down: Down | undefined;
  let ends = 0;
  let runsSinceMs: number | undefined;
  return {
    get down() {
      return down;
    },
    runs() {
      down = undefined;
      runsSinceMs = clock.monotonicMs();
    },
    ended(reason) {
      const calm = runsSinceMs !== undefined && clock.monotonicMs() - runsSinceMs >= calmMs;
      runsSinceMs = undefined;
      ends = calm ? 1 : ends + 1;
      down = { reason, ends };
      return Math.min(longestMs, firstMs * 2 ** (ends - 1));
    },
  };
}
