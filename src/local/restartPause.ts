/** Pause before the first start after an end; each further end doubles it, up to the longest. */
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
 * by then. Pure; times are of a monotonic clock.
 */
export function restartPause(
  endsBefore: number,
  ranMs: number,
): { readonly ends: number; readonly pauseMs: number } {
  const ends = ranMs >= calmMs ? 1 : endsBefore + 1;
  return { ends, pauseMs: Math.min(longestMs, firstMs * 2 ** (ends - 1)) };
}
