import type { Contest } from "./contest.ts";
import type { Sight } from "./leaderView.ts";
import { budgetEndsAtMs, type Waiting } from "./policy.ts";

/**
 * How long a contender waits for a lease that is held. A tick does not wait at all. A tick started by a wake
 * may have been called because the leader died, so it waits until it has seen the beat move, for at most the
 * lease and two seconds, which is longer than natural expiry takes. A watching contender waits for ever.
 */
export interface Patience {
  leftMs(): number;
  /** Also remembers the first beat. */
  waiting(sight: Sight): Waiting;
  /** Until the next look, spread a little so that waiting contenders do not look in step. */
  pause(): Promise<void>;
}

const beyondLeaseMs = 2_000;

export function patienceOf({ ports, settings, request }: Contest): Patience {
  const { clock, random } = ports;
  const budgetUntilMs = budgetEndsAtMs(request.startedAtMonotonicMs, settings) - settings.leastTermMs;
  const wakeUntilMs = clock.monotonicMs() + settings.leaseDurationS * 1_000 + beyondLeaseMs;
  const tickUntilMs = request.startedBy === "wake" ? Math.min(wakeUntilMs, budgetUntilMs) : 0;
  const untilMs = settings.watching ? budgetUntilMs : tickUntilMs;
  let first: { readonly beat: string | undefined } | undefined;
  const leftMs = (): number => Math.max(0, untilMs - clock.monotonicMs());
  return {
    leftMs,
    waiting(sight) {
      first ??= { beat: sight.decoded.kind === "record" ? sight.decoded.record.beat : undefined };
      return { firstBeat: first.beat, waitLeftMs: leftMs(), watching: settings.watching };
    },
    pause: () => clock.sleep(settings.lookAgainMs * (0.9 + 0.2 * random.number()), request.stopping),
  };
}
