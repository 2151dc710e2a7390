import type { Clock } from "../../engine/storage/ports.ts";
import { type ClockReading, elapsedMs, readClocks } from "../cappedCall.ts";
import { ageResolutionMs, type ElectionSettings, stopWorkMs } from "../settings.ts";

/**
 * When this instance must stop acting as a leader, whatever it still hears: the earlier of two times. One is the send
 * time of the last confirmed acquire or renewal plus the lease less the margin. The other, once a term with early
 * takeover is claimed, is the send time of the last confirmed heartbeat plus `breakAfterMs` less one second (the resolution
 * of a record's age: a challenger may break that much before the real age is reached).
 *
 * It has its own timer, so a renewal that hangs cannot delay it. Everything that is about to have an effect checks it
 * synchronously, so a process that was stopped sees it before its first effect. Once passed, nothing revives it.
 */
export type StopWorkDeadline = ReturnType<typeof stopWorkDeadline>;

/** The wall clock may jump between two firings, so the timer never sleeps longer than this. */
const checkEveryMs = 500;

export function stopWorkDeadline(
  clock: Clock,
  settings: ElectionSettings,
  firstConfirmed: ClockReading,
  onPassed: () => void,
) {
  let lease = firstConfirmed;
  let heartbeat: ClockReading | undefined;
  let passed = false;
  let cancel = (): void => {};

  const untilPassedMs = (): number => {
    const now = readClocks(clock);
    const byLease = stopWorkMs(settings) - elapsedMs(lease, now);
    if (heartbeat === undefined || settings.breakAfterMs === 0) return byLease;
    return Math.min(byLease, settings.breakAfterMs - ageResolutionMs - elapsedMs(heartbeat, now));
  };
  /** Reads the clocks now; fires `onPassed` before it returns true for the first time. */
  const hasPassed = (): boolean => {
    if (!passed && untilPassedMs() <= 0) {
      passed = true;
      cancel();
      onPassed();
    }
    return passed;
  };
  const arm = (): void => {
    if (hasPassed()) return;
    cancel = clock.after(Math.min(untilPassedMs(), checkEveryMs), arm);
  };
  /** An older send time never replaces a newer one. */
  const later = (known: ClockReading | undefined, sentAt: ClockReading): ClockReading =>
    known !== undefined && known.monotonicMs > sentAt.monotonicMs ? known : sentAt;

  arm();
  return {
    /** An acquire or a renewal sent at that time was confirmed. */
    leaseConfirmed(sentAt: ClockReading): void {
      if (!hasPassed()) lease = later(lease, sentAt);
    },
    /** A claim or a heartbeat sent at that time was confirmed; the first call starts the second part. */
    heartbeatConfirmed(sentAt: ClockReading): void {
      if (!hasPassed()) heartbeat = later(heartbeat, sentAt);
    },
    /** 0 when it has passed. */
    remainingMs: (): number => (hasPassed() ? 0 : untilPassedMs()),
    /** Remaining time of the lease on storage's side, at least, in whole ms: it ends after work had to stop. */
    leaseLeftMs: (): number =>
      Math.max(0, Math.floor(settings.leaseDurationS * 1_000 - elapsedMs(lease, readClocks(clock)))),
    hasPassed,
    close: (): void => cancel(),
  };
}
