import type { Leader } from "../election/api/lead.ts";
import { LostLeadership } from "../election/leadership.ts";
import { elapsedMs, momentOf } from "../election/moment.ts";
import type { Clock } from "../storage/ports.ts";
import type { Child } from "./childProcess.ts";

/** How often it is noted how much confirmed time is left. */
const lookEveryMs = 500;

/**
 * Runs a program while leading and gives its exit code. When no renewal was confirmed in time it gets SIGTERM, and
 * SIGKILL after `graceMs`, which is before the lease can be another's; when storage said that the lease is lost,
 * another may lead already and it gets SIGKILL at once. Signals to this process are passed on; the program then has
 * the same grace, and the lease is kept until it is gone.
 *
 * Not promised: anything while this process does not run. If it is stopped (SIGSTOP, a suspended machine) or killed
 * with SIGKILL, nobody stops the program; and only the program itself is stopped, not what it has started.
 */
export async function runWhileLeading(
  clock: Clock,
  leader: Pick<Leader, "signal" | "remainingMs">,
  child: Child,
  options: {
    readonly graceMs: number;
    readonly interrupt: AbortSignal;
    readonly passOn: () => NodeJS.Signals | undefined;
  },
): Promise<number> {
  let takeBackKill = (): void => {};
  let takeBackLook = (): void => {};
  let known = { at: momentOf(clock), leftMs: leader.remainingMs() };

  const endWithin = (ms: number, first: NodeJS.Signals | undefined): void => {
    takeBackKill();
    if (first !== undefined && ms > 0) child.kill(first);
    if (ms <= 0) child.kill("SIGKILL");
    else takeBackKill = clock.after(ms, () => child.kill("SIGKILL"));
  };
  const onLost = (): void => {
    takeBackLook();
    const { reason } = leader.signal;
    const isAnothers = reason instanceof LostLeadership && reason.reason === "lost";
    // A process that slept hears of the end late; what it slept is taken off the grace.
    const lateMs = Math.max(0, elapsedMs(known.at, momentOf(clock)) - known.leftMs);
    endWithin(isAnothers ? 0 : options.graceMs - lateMs, "SIGTERM");
  };
  const onInterrupt = (): void => {
    if (!leader.signal.aborted) endWithin(options.graceMs, options.passOn());
  };
  const look = (): void => {
    const leftMs = leader.remainingMs();
    if (leftMs > 0) known = { at: momentOf(clock), leftMs };
    takeBackLook = clock.after(lookEveryMs, look);
  };

  if (leader.signal.aborted) onLost();
  else {
    leader.signal.addEventListener("abort", onLost, { once: true });
    look();
  }
  if (options.interrupt.aborted) onInterrupt();
  else options.interrupt.addEventListener("abort", onInterrupt, { once: true });
  try {
    return await child.ended;
  } finally {
    takeBackKill();
    takeBackLook();
    leader.signal.removeEventListener("abort", onLost);
    options.interrupt.removeEventListener("abort", onInterrupt);
  }
}
