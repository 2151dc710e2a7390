import type { Clock } from "../../engine/storage/ports.ts";

/**
 * One scheduler for the renewals of many leases. Each lease keeps its own phase within the renew interval, so that
 * leases acquired together are not renewed together; at most `atOnce` renewals are in flight. Nothing is scheduled
 * while no lease is held, and the process is kept alive while one is.
 *
 * Not promised: that a renewal is on time while this event loop is blocked. Each lease has its stop-work deadline
 * for that.
 */
export function renewals(
  clock: Clock,
  settings: { readonly renewEveryMs: number; readonly renewAgainMs: number; readonly atOnce: number },
) {
  const entries = new Map<Renewal, Entry>();
  const stats = { sent: 0, failed: 0, late: 0, latestMs: 0 };
  let added = 0;
  let inFlight = 0;
  let running = false;
  let sleeping = new AbortController();

  const send = async (renewal: Renewal, entry: Entry): Promise<void> => {
    const nowMs = clock.monotonicMs();
    const behindMs = nowMs - entry.dueMs;
    stats.sent += 1;
    if (behindMs > lateMs) stats.late += 1;
    stats.latestMs = Math.max(stats.latestMs, behindMs);
    inFlight += 1;
    entry.inFlight = true;
    const confirmed = await renewal();
    inFlight -= 1;
    entry.inFlight = false;
    if (!confirmed) stats.failed += 1;
    const endMs = clock.monotonicMs();
    // Counted from the send: a slow reply must not move the next renewal toward the end of the lease.
    const fromMs = Math.max(nowMs, endMs - settings.renewEveryMs);
    entry.dueMs = confirmed
      ? nextOfPhaseMs(fromMs, entry.phase, settings.renewEveryMs)
      : endMs + settings.renewAgainMs;
    sleeping.abort();
  };

  /** The first one due of those not in flight. */
  const first = (): readonly [Renewal, Entry] | undefined => {
    let found: readonly [Renewal, Entry] | undefined;
    for (const one of entries) {
      if (!one[1].inFlight && (found === undefined || one[1].dueMs < found[1].dueMs)) found = one;
    }
    return found;
  };

  const run = async (): Promise<void> => {
    running = true;
    while (entries.size > 0) {
      sleeping = new AbortController();
      const next = inFlight < settings.atOnce ? first() : undefined;
      const waitMs = next === undefined ? longestSleepMs : next[1].dueMs - clock.monotonicMs();
      if (next !== undefined && waitMs <= 0) void send(...next);
      else await clock.sleep(Math.min(waitMs, longestSleepMs), sleeping.signal);
    }
    running = false;
  };

  return {
    add(renewal: Renewal): void {
      const phase = (added * goldenRatio) % 1;
      added += 1;
      const dueMs = nextOfPhaseMs(clock.monotonicMs(), phase, settings.renewEveryMs);
      entries.set(renewal, { phase, dueMs, inFlight: false });
      if (running) sleeping.abort();
      else void run();
    },
    remove(renewal: Renewal): void {
      entries.delete(renewal);
      sleeping.abort();
    },
    stats: (): RenewalStats => ({ ...stats }),
  };
}

/** One renewal; it returns whether it was confirmed and never rejects. */
export type Renewal = () => Promise<boolean>;

export interface RenewalStats {
  readonly sent: number;
  readonly failed: number;
  /** Sent more than a second after they were due. */
  readonly late: number;
  readonly latestMs: number;
}

interface Entry {
  readonly phase: number;
  dueMs: number;
  inFlight: boolean;
}

/** Its multiples, modulo one, fill the interval evenly for any number of leases. */
const goldenRatio = 0.6180339887498949;
const lateMs = 1_000;
const longestSleepMs = 60_000;

/** The next time of this phase, at most one interval after now. */
export const nextOfPhaseMs = (nowMs: number, phase: number, everyMs: number): number => {
  const turns = Math.floor(nowMs / everyMs - phase) + 1;
  const nextMs = (turns + phase) * everyMs;
  // Rounding may return the present time itself, and a lease would be renewed in a busy loop.
  return nextMs > nowMs ? nextMs : nextMs + everyMs;
};
