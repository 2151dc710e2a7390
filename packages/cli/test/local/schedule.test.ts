import { describe, expect, it } from "vitest";
import { bindingText } from "../../../../src/host/functionListeners.ts";
import { parseSchedule } from "../../../../src/host/timerTrigger.ts";

const nowMs = Date.UTC(2026, 0, 1, 12, 0, 0, 500);
const nextAfter = (text: string) => {
  const next = parseSchedule(text).nextAfter(nowMs);
  return next === undefined ? undefined : new Date(next).toISOString();
};

describe("a schedule", () => {
  it.each([
    ["* * * * * *", "2026-01-01T12:00:01.000Z"],
    ["*/2 * * * * *", "2026-01-01T12:00:02.000Z"],
    ["5/20 * * * * *", "2026-01-01T12:00:05.000Z"],
    ["0 * * * * *", "2026-01-01T12:01:00.000Z"],
    ["*/5 * * * *", "2026-01-01T12:05:00.000Z"],
    ["0 30 9 * Jan Mon-Fri", "2026-01-02T09:30:00.000Z"],
    // The day and the weekday must both fit, unlike in a crontab.
    ["0 0 0 13 * 5", "2026-02-13T00:00:00.000Z"],
    ["0 0 0 29 2 *", "2028-02-29T00:00:00.000Z"],
  ])("%s fires next at %s, in UTC", (text, next) => {
    expect(nextAfter(text)).toBe(next);
  });

  it.each([
    "00:00:05",
    "",
    "@daily",
    "0 0 0 L * *",
    "0 0 0 * * 1#2",
    "61 * * * * *",
    "* * *",
    "0 0 0 * * * 2026",
  ])("is refused where Azure would not take it: %j", (text) => {
    expect(() => parseSchedule(text)).toThrow("no NCRONTAB expression");
  });
});

describe("the text of a binding", () => {
  const read = (schedule: unknown, env = {}) => bindingText({ schedule }, "schedule", "tick", env);

  it("has each %SETTING% replaced by its value", () => {
    expect(read("%SECONDS% * * * * *", { SECONDS: "*/2" })).toBe("*/2 * * * * *");
    expect(read("0 * * * * *")).toBe("0 * * * * *");
  });

  it("is refused with the function's name if a setting is missing", () => {
    expect(() => read("%SECONDS% * * * * *")).toThrow(
      'function tick: schedule is "%SECONDS% * * * * *", but the setting SECONDS is missing',
    );
  });
});
