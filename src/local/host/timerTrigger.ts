import { Cron } from "croner";
import { ConfigError, messageOf } from "../../model/errors.ts";
import type { Clock } from "../../storage/ports.ts";
import { jsonData, type TypedData } from "./coreModule.ts";

/** When a timer fires: an NCRONTAB expression of six fields (seconds first; five mean second 0), in UTC. */
export interface Schedule {
  /** The first occurrence after this time, in ms since the epoch; undefined if there is none any more. */
  nextAfter(ms: number): number | undefined;
}

const names = /\b(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)\b/gi;

export function parseSchedule(text: string): Schedule {
  const cron = parse(text.trim());
  return { nextAfter: (ms) => cron.nextRun(new Date(ms))?.getTime() };
}

function parse(text: string): Cron {
  // Croner accepts more than NCRONTAB (L, W, #, nicknames, years). What Azure refuses is refused here.
  if (!/^[\d\s*,/-]+$/.test(text.replace(names, "0"))) {
    const why = `"${text}" is no NCRONTAB expression (time spans do not work here)`;
    throw new ConfigError("bad-schedule", why);
  }
  try {
    // NCRONTAB takes a step after a single number, and wants both the day and the weekday to fit.
    return new Cron(text, { mode: "5-or-6-parts", timezone: "UTC", sloppyRanges: true, domAndDow: true });
  } catch (cause) {
    const why = `"${text}" is no NCRONTAB expression: ${messageOf(cause)}`;
    throw new ConfigError("bad-schedule", why, { cause });
  }
}

export interface Listener {
  /** A message was put into this queue. */
  pollNow?(queue: string): void;
  /** Takes no new work from now on; resolves when the work it has begun is done. */
  stop(): Promise<void>;
}

/**
 * Fires by a one-shot timer for each occurrence and never overlaps itself. Occurrences missed during a long invocation
 * collapse into one that follows at once.
 *
 * Not promised, unlike on Azure: that a timer fires on one instance only (here it fires on each), and a status, so no
 * occurrence is ever past due.
 */
export function startTimer(options: {
  readonly schedule: Schedule;
  readonly clock: Clock;
  /** Never rejects. */
  readonly invoke: (input: TypedData) => Promise<unknown>;
}): Listener {
  const { schedule, clock, invoke } = options;
  let cancel: () => void = () => undefined;
  let current: Promise<unknown> = Promise.resolve();
  let stopped = false;

  const arm = (dueMs: number | undefined) => {
    if (stopped || dueMs === undefined) return;
    const waitMs = Math.max(0, dueMs - clock.wallMs());
    cancel = clock.after(waitMs, () => {
      // A timer may fire a little early by the wall clock, and the longest waits come in pieces.
      if (clock.wallMs() < dueMs) arm(dueMs);
      else current = fire();
    });
  };

  const fire = async () => {
    const nextMs = schedule.nextAfter(clock.wallMs());
    await invoke(jsonData({ Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false }));
    // The next occurrence after the start: in the past after an overrun, which makes it fire at once.
    arm(nextMs);
  };

  arm(schedule.nextAfter(clock.wallMs()));

  return {
    async stop() {
      stopped = true;
      cancel();
      await current;
    },
  };
}
