import type { Clock } from "../../storage/ports.ts";
import type { Schedule } from "./schedule.ts";
import { jsonData, type TypedData } from "./typedData.ts";

/** .NET's zero date, which the host shows for "not yet". */
const never = "0001-01-01T00:00:00+00:00";

export interface Listener {
  /** Takes no new work from now on; resolves when the work it has begun is done. */
  stop(): Promise<void>;
}

/**
 * Fires by a one-shot timer for each occurrence and never overlaps itself. Occurrences missed during a long
 * invocation collapse into one that follows at once.
 *
 * Not promised, unlike on Azure: that one instance ticks for all (each one does; the lease is raced for), and a
 * status that outlives the process, so no occurrence is ever past due.
 */
export function startTimer(options: {
  readonly schedule: Schedule;
  readonly runOnStartup: boolean;
  readonly useMonitor: boolean;
  readonly clock: Clock;
  /** Never rejects. */
  readonly invoke: (input: TypedData) => Promise<unknown>;
}): Listener {
  const { schedule, clock, invoke } = options;
  const monitored = options.useMonitor && !schedule.subMinute;
  let cancel: () => void = () => undefined;
  let current: Promise<unknown> = Promise.resolve();
  let stopped = false;
  let lastMs: number | undefined;

  const status = (nowMs: number, nextMs: number | undefined) => ({
    Last: iso(lastMs),
    Next: iso(nextMs),
    LastUpdated: iso(nowMs),
  });

  const arm = (dueMs: number | undefined) => {
    if (stopped || dueMs === undefined) return;
    const waitMs = Math.max(0, dueMs - clock.wallMs());
    cancel = clock.after(waitMs, () => {
      // A timer may come a little early by the wall clock, and the longest waits come in pieces.
      if (clock.wallMs() < dueMs) arm(dueMs);
      else current = fire(dueMs);
    });
  };

  const fire = async (dueMs: number) => {
    const beganMs = clock.wallMs();
    const nextMs = schedule.nextAfter(beganMs);
    const scheduleStatus = monitored ? status(beganMs, nextMs) : null;
    lastMs = dueMs;
    await invoke(
      jsonData({ Schedule: { AdjustForDST: true }, ScheduleStatus: scheduleStatus, IsPastDue: false }),
    );
    // The next occurrence after the start: in the past after an overrun, which makes it fire at once.
    arm(nextMs);
  };

  if (options.runOnStartup) current = fire(clock.wallMs());
  else arm(schedule.nextAfter(clock.wallMs()));

  return {
    async stop() {
      stopped = true;
      cancel();
      await current;
    },
  };
}

const iso = (ms: number | undefined): string => (ms === undefined ? never : new Date(ms).toISOString());
