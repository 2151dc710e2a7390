import type { Clock } from "../storage/ports.ts";

/**
 * One instant on both local clocks. Neither is safe alone: the monotonic clock of some systems stands still
 * while the machine is suspended, and the wall clock may be set. Elapsed time is therefore the larger of the two.
 */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const momentOf = (clock: Clock): Moment => ({
  monotonicMs: clock.monotonicMs(),
  wallMs: clock.wallMs(),
});

/** The more pessimistic answer of the two clocks: a wall clock set back never makes time shorter. */
export const elapsedMs = (since: Moment, now: Moment): number =>
  Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
