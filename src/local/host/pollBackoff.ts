import type { Random } from "../../storage/ports.ts";

/** How long the host waits before it looks at an empty queue again. */
export interface PollBackoff {
  /** `found`: messages were found since the last wait. Gives ms. */
  next(found: boolean): number;
}

/** The host's shortest interval, and the unit by which it grows (azure-webjobs-sdk, QueuePollingIntervals). */
export const pollMsMin = 100;

/**
 * 100 ms after a find, then 100 ms + 100 ms · 2^n · (0.8 to 1.2) at the n-th miss, up to `maxMs` (read in the
 * behaviour of RandomizedExponentialBackoffStrategy of the storage extension).
 */
export function makePollBackoff(maxMs: number, random: Random): PollBackoff {
  let misses = 0;
  return {
    next(found) {
      if (found) {
        misses = 0;
        return Math.min(pollMsMin, maxMs);
      }
      const grown = pollMsMin + pollMsMin * 2 ** misses * (0.8 + 0.4 * random.number());
      if (grown < maxMs) misses += 1;
      return Math.min(grown, maxMs);
    },
  };
}
