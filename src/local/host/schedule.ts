import { Cron } from "croner";
import { ConfigError, messageOf } from "../../model/errors.ts";

/** When a timer fires: an NCRONTAB expression of six fields (seconds first; five mean second 0), in UTC. */
export interface Schedule {
  /** The first occurrence after this time, in ms since the epoch; undefined if there is none any more. */
  nextAfter(ms: number): number | undefined;
  /** True if it can fire more than once a minute; the host then keeps no schedule status. */
  readonly subMinute: boolean;
}

const occurrencesLooked = 5;
const names = /\b(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)\b/gi;

/** `nowMs` is only used to look at the distance of some occurrences. */
export function parseSchedule(text: string, nowMs: number): Schedule {
  const cron = parse(text.trim());
  const nextAfter = (ms: number) => cron.nextRun(new Date(ms))?.getTime();

  let subMinute = false;
  let last = nextAfter(nowMs);
  for (let looked = 0; looked < occurrencesLooked && last !== undefined; looked += 1) {
    const next = nextAfter(last);
    if (next !== undefined && next - last < 60_000) subMinute = true;
    last = next;
  }
  return { nextAfter, subMinute };
}

function parse(text: string): Cron {
  // Croner knows more than NCRONTAB does (L, W, #, nicknames, years). What Azure refuses is refused here.
  if (!/^[\d\s*,/-]+$/.test(text.replace(names, "0"))) {
    throw new ConfigError(
      "bad-schedule",
      `"${text}" is no NCRONTAB expression (time spans do not work here)`,
    );
  }
  try {
    // NCRONTAB takes a step after a single number, and wants both the day and the weekday to fit.
    return new Cron(text, { mode: "5-or-6-parts", timezone: "UTC", sloppyRanges: true, domAndDow: true });
  } catch (cause) {
    throw new ConfigError("bad-schedule", `"${text}" is no NCRONTAB expression: ${messageOf(cause)}`, {
      cause,
    });
  }
}
