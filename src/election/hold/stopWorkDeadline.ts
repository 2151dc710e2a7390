import type { Clock } from "../../storage/ports.ts";
import { elapsedMs, type Moment, momentOf } from "../cappedCall.ts";
import { ageResolutionMs, type ElectionSettings, stopWorkMs } from "../settings.ts";

/**
 * The moment after which this instance must not act as a leader, whatever it still hears. It is the earlier of
 * two: the send time of the last confirmed acquire or renew plus the lease less the margin, and, once a term
 * with early takeover is claimed, the send time of the last confirmed beat plus `breakAfterMs` less one second
 * (the resolution of a record's age: a challenger may break that much before the real age is reached).
 *
 * It has a timer of its own, so a renewal that hangs cannot hold it up, and it is looked at synchronously by
 * everything that is about to have an effect, so a process that was stopped sees it before its first effect.
 * Past it nothing revives it.
 */
export interface StopWorkDeadline {
  /** An acquire or a renew sent at that moment was confirmed. */
  leaseConfirmed(sentAt: Moment): void;
  /** A claim or a beat sent at that moment was confirmed; the first call starts the second part. */
  beatConfirmed(sentAt: Moment): void;
  /** 0 when it has passed. */
  remainingMs(): number;
  /** Time until the lease runs out on storage's side, at least, in whole ms: it ends after work had to stop. */
  leaseLeftMs(): number;
  /** Looks at the clocks now; fires `onPassed` before it answers yes for the first time. */
  hasPassed(): boolean;
  /** Takes the timer back. */
  close(): void;
}

/** The wall clock may jump between two firings, so the timer never sleeps longer than this. */
const lookEveryMs = 500;

export function stopWorkDeadline(
  clock: Clock,
  settings: ElectionSettings,
  firstConfirmed: Moment,
  onPassed: () => void,
): StopWorkDeadline {
  let lease = firstConfirmed;
  let beat: Moment | undefined;
  let passed = false;
  let takeBack = (): void => {};

  const leftMs = (): number => {
    const now = momentOf(clock);
    const byLease = stopWorkMs(settings) - elapsedMs(lease, now);
    if (beat === undefined || settings.breakAfterMs === 0) return byLease;
    return Math.min(byLease, settings.breakAfterMs - ageResolutionMs - elapsedMs(beat, now));
  };
  const hasPassed = (): boolean => {
    if (!passed && leftMs() <= 0) {
      passed = true;
      takeBack();
      onPassed();
    }
    return passed;
  };
  const arm = (): void => {
    if (hasPassed()) return;
    takeBack = clock.after(Math.min(leftMs(), lookEveryMs), arm);
  };
  /** A late reply is heard only in time, and an older send time never takes the place of a newer one. */
  const later = (known: Moment | undefined, heard: Moment): Moment =>
    known !== undefined && known.monotonicMs > heard.monotonicMs ? known : heard;

  arm();
  return {
    leaseConfirmed(sentAt) {
      if (!hasPassed()) lease = later(lease, sentAt);
    },
    beatConfirmed(sentAt) {
      if (!hasPassed()) beat = later(beat, sentAt);
    },
    remainingMs: () => (hasPassed() ? 0 : leftMs()),
    leaseLeftMs: () =>
      Math.max(0, Math.floor(settings.leaseDurationS * 1_000 - elapsedMs(lease, momentOf(clock)))),
    hasPassed,
    close: () => takeBack(),
  };
}
