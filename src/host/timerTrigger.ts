import { Cron } from "croner";
import { ConfigError, messageOf } from "../engine/model/errors.ts";
import type { Clock } from "../engine/storage/ports.ts";
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
  /** Takes no new work from now on; resolves when the work it has begun is done. */
  stop(): Promise<void>;
}

/** What the host's own storage holds of one timer of an app, for all of its instances. */
export interface TimerStore {
  /** Whether this instance has the timer from now on, until it releases it or dies. */
  take(): Promise<boolean>;
  release(): Promise<void>;
  /** When it is due, in ms since the epoch; undefined before its first start. */
  due(): Promise<number | undefined>;
  setDue(ms: number): Promise<void>;
}

/** How often an instance asks for a timer that another has (`listenerLockRecoveryPollingInterval`). */
const takeAgainMs = 60_000;
const minuteMs = 60_000;

interface TimerOptions {
  readonly schedule: Schedule;
  readonly clock: Clock;
  /** Never rejects. */
  readonly invoke: (input: TypedData) => Promise<unknown>;
  /** Without it the timer fires on each instance, and no occurrence is ever past due. */
  readonly store?: TimerStore | undefined;
  /** `useMonitor` of the binding; the host has it on by default. */
  readonly monitor?: boolean;
}

/**
 * Fires by a one-shot timer for each occurrence and never overlaps itself. Occurrences missed during a long invocation
 * collapse into one that follows at once.
 *
 * With a store it does as on Azure (TimerListener, SingletonListener and ScheduleMonitor of azure-webjobs-sdk and
 * -extensions): one instance of an app has the timer, and an occurrence that no instance met is past due and fires as soon
 * as one has it. Without a monitor, and where a schedule fires twice a minute, an instance counts from its own start.
 */
export function startTimer({ schedule, clock, invoke, store, monitor = true }: TimerOptions): Listener {
  let cancel: () => void = () => undefined;
  let current: Promise<unknown> = Promise.resolve();
  let stopped = false;
  let taken = false;
  const startedMs = clock.wallMs();
  const secondMs = schedule.nextAfter(schedule.nextAfter(startedMs) ?? startedMs) ?? Number.POSITIVE_INFINITY;
  const kept = monitor && secondMs - startedMs > minuteMs ? store : undefined;

  const arm = (dueMs: number | undefined) => {
    if (stopped || dueMs === undefined) return;
    const waitMs = Math.max(0, dueMs - clock.wallMs());
    cancel = clock.after(waitMs, () => {
      // A timer may fire a little early by the wall clock, and the longest waits come in pieces.
      if (clock.wallMs() < dueMs) arm(dueMs);
      else current = fire(false);
    });
  };

  const fire = async (isPastDue: boolean) => {
    const nextMs = schedule.nextAfter(clock.wallMs());
    const dueMs = await kept?.due();
    const status = dueMs === undefined ? null : { Next: new Date(dueMs).toISOString() };
    const input = { Schedule: { AdjustForDST: true }, ScheduleStatus: status, IsPastDue: isPastDue };
    await invoke(jsonData(input));
    if (nextMs !== undefined) await kept?.setDue(nextMs);
    // The next occurrence after the start: in the past after an overrun, which makes it fire at once.
    arm(nextMs);
  };

  const begin = async () => {
    taken = store === undefined || (await store.take());
    if (stopped) return;
    if (!taken) {
      cancel = clock.after(takeAgainMs, () => {
        current = begin();
      });
      return;
    }
    const dueMs = await kept?.due();
    if (dueMs !== undefined && dueMs < clock.wallMs()) return fire(true);
    const nextMs = schedule.nextAfter(clock.wallMs());
    if (nextMs !== undefined) await kept?.setDue(nextMs);
    arm(nextMs);
  };

  if (store === undefined) arm(schedule.nextAfter(startedMs));
  else current = begin();

  return {
    async stop() {
      stopped = true;
      cancel();
      await current;
      if (taken) await store?.release();
    },
  };
}
