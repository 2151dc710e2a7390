import { Cron } from "croner";
import { InputError } from "./errors.ts";
import { stampOf } from "./names.ts";

/**
 * When a schedule is due, and what its templates say then. Storage's time goes in and comes out, in ms; only the fields of the
 * expression and the templates are in the time zone. docs/SCHEDULES.md has the table for the changes of the clocks.
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
  checkTimeZone(timeZone);
  const text = cron.trim();
  // Croner takes more: dates, nicknames, and seconds.
  if (text.split(/\s+/).length !== 5)
    throw badField("cron", `${JSON.stringify(cron)} must have five fields: minute hour day month weekday`);
  try {
    const parsed = new Cron(text, { mode: "5-part", timezone: timeZone, paused: true });
    return { nextAfter: (ms) => parsed.nextRun(new Date(ms))?.getTime() };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^CronPattern: /, "") : String(cause);
    throw badField("cron", `${JSON.stringify(cron)} is no cron expression: ${why}`);
  }
}

function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw badField(
      "timeZone",
      `${JSON.stringify(timeZone)} is no IANA time zone, such as Europe/Berlin or UTC`,
    );
  }
}

const badField = (field: "cron" | "timeZone", rule: string): InputError =>
  new InputError("invalid", field === "cron" ? "bad-cron" : "bad-time-zone", `${field}: ${rule}`, { field });

/** Due times after `fromMs`, up to `toMs`, at most `max` of them. */
export function dueWithin(times: DueTimes, fromMs: number, toMs: number, max: number): number[] {
  const found: number[] = [];
  for (let at = times.nextAfter(fromMs); at !== undefined && at <= toMs; at = times.nextAfter(at)) {
    if (found.length === max) break;
    found.push(at);
  }
  return found;
}

const dayMs = 86_400_000;
const template = /\{(?:date([+-]\d{1,3})?|(time|year|month|day|hour|minute|due))\}/g;

export const hasTemplate = (value: unknown): boolean =>
  typeof value === "string" && value.search(template) >= 0;

/**
 * The value with the templates in its strings replaced: `{date}` (`2026-11-23`), `{date-1}` the day before, `{time}` (`0200`),
 * `{year}`, `{month}`, `{day}`, `{hour}`, `{minute}`, all in the time zone; `{due}` is the time in UTC as in the run's id. Any
 * other text in braces stays.
 */
export function fillTemplates<T>(value: T, dueMs: number, timeZone: string): T {
  const parts = new Map(partsIn(timeZone, dueMs));
  const fill = (inner: unknown): unknown => {
    if (typeof inner === "string")
      return inner.replace(template, (_all, days: string | undefined, word: string | undefined) =>
        word === undefined ? dateOf(parts, Number(days ?? 0)) : wordOf(parts, word, dueMs),
      );
    if (Array.isArray(inner)) return inner.map(fill);
    if (inner === null || typeof inner !== "object") return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, fill(one)]));
  };
  return fill(value) as T;
}

type Parts = ReadonlyMap<string, string>;

function* partsIn(timeZone: string, ms: number): Generator<readonly [string, string]> {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit" },
  });
  for (const { type, value } of format.formatToParts(ms)) yield [type, value];
}

function dateOf(parts: Parts, days: number): string {
  const [year, month, day] = ["year", "month", "day"].map((part) => Number(parts.get(part)));
  const dayStartMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1);
  return new Date(dayStartMs + days * dayMs).toISOString().slice(0, 10);
}

function wordOf(parts: Parts, word: string, dueMs: number): string {
  if (word === "time") return `${parts.get("hour")}${parts.get("minute")}`;
  return word === "due" ? stampOf(dueMs) : (parts.get(word) ?? "");
}
