import { Cron } from "croner";
import { InputError } from "./errors.ts";

/**
 * When a schedule is due, and what its templates say then. Storage's time goes in and comes out, in ms; only the fields of the
 * expression and the templates are in the time zone. docs/OPERATIONS.md has the table for the changes of the clocks.
 */
export interface DueTimes {
  /** The first due time after this one; undefined if there is none. */
  nextAfter(ms: number): number | undefined;
}

interface Rule {
  readonly cron: string;
  readonly timeZone: string;
}

/** Throws `InputError` `bad-cron` or `bad-time-zone`. */
export function dueTimes({ cron, timeZone }: Rule): DueTimes {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw badField("timeZone", timeZone, "is no IANA time zone, such as Europe/Berlin or UTC");
  }
  const text = cron.trim();
  // Croner takes more: dates, nicknames, and seconds.
  if (text.split(/\s+/).length !== 5)
    throw badField("cron", cron, "must have five fields: minute hour day month weekday");
  try {
    const parsed = new Cron(text, { mode: "5-part", timezone: timeZone, paused: true });
    return { nextAfter: (ms) => parsed.nextRun(new Date(ms))?.getTime() };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^CronPattern: /, "") : String(cause);
    throw badField("cron", cron, `is no cron expression: ${why}`);
  }
}

const badField = (field: "cron" | "timeZone", value: string, rule: string): InputError => {
  const code = field === "cron" ? "bad-cron" : "bad-time-zone";
  return new InputError("invalid", code, `${field}: ${JSON.stringify(value)} ${rule}`, { field });
};

const dayMs = 86_400_000;
const template = /\{(?:date([+-]\d{1,3})?|(year|month|day|hour|minute))\}/g;

/**
 * The value with the templates in its strings replaced: `{date}` (`2026-11-23`), `{date-1}` the day before, `{year}`, `{month}`,
 * `{day}`, `{hour}` and `{minute}`, all in the time zone. Any other text in braces stays.
 */
export function fillTemplates<T>(value: T, dueMs: number, timeZone: string): T {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit" },
  });
  const parts = new Map(format.formatToParts(dueMs).map((part) => [part.type as string, part.value]));
  const fill = (inner: unknown): unknown => {
    if (typeof inner === "string")
      return inner.replace(template, (_all, days: string | undefined, word = "date") =>
        word === "date" ? dateOf(parts, Number(days ?? 0)) : (parts.get(word) ?? ""),
      );
    if (Array.isArray(inner)) return inner.map(fill);
    if (inner === null || typeof inner !== "object") return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, fill(one)]));
  };
  return fill(value) as T;
}

function dateOf(parts: ReadonlyMap<string, string>, days: number): string {
  const [year = 0, month = 1, day = 1] = ["year", "month", "day"].map((part) => Number(parts.get(part)));
  return new Date(Date.UTC(year, month - 1, day) + days * dayMs).toISOString().slice(0, 10);
}
