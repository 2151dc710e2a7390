import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dueTimes, fillTemplates } from "../../src/engine/model/dueTimes.ts";
import { dueWithin } from "../support/dueWithin.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";

const timesOf = (cron: string, timeZone: string, from: string, count: number): string[] =>
  dueWithin(dueTimes({ cron, timeZone }), Date.parse(from), Infinity, count).map((ms) =>
    new Date(ms).toISOString().slice(0, 16),
  );

/** The table of docs/OPERATIONS.md: Berlin skips 02:00 to 03:00 on 29 March 2026 and repeats it on 25 October. */
describe("where clocks change", () => {
  const [spring, autumn] = ["2026-03-28T12:00Z", "2026-10-24T12:00Z"];
  test.each([
    [
      "a time in the gap is due once, when the gap ends",
      "30 2 * * *",
      spring,
      "2026-03-29T01:00 2026-03-30T00:30",
    ],
    ["the start of the gap too", "0 2 * * *", spring, "2026-03-29T01:00 2026-03-30T00:00"],
    [
      "a list or a step within the gap is not due",
      "15,45 2 * * *",
      spring,
      "2026-03-30T00:15 2026-03-30T00:45",
    ],
    [
      "each hour passes over the gap",
      "0 0-4 * * *",
      spring,
      "2026-03-28T23:00 2026-03-29T00:00 2026-03-29T01:00 2026-03-29T02:00",
    ],
    [
      "a time in the repeated hour is due once, the first time",
      "30 2 * * *",
      autumn,
      "2026-10-25T00:30 2026-10-26T01:30",
    ],
    [
      "a list within the repeated hour is due in both",
      "15,45 2 * * *",
      autumn,
      "2026-10-25T00:15 2026-10-25T00:45 2026-10-25T01:15 2026-10-25T01:45",
    ],
    [
      "each hour is due in both",
      "0 * * * *",
      "2026-10-24T22:30Z",
      "2026-10-24T23:00 2026-10-25T00:00 2026-10-25T01:00 2026-10-25T02:00",
    ],
    [
      "a step of minutes goes through both",
      "*/30 * * * *",
      "2026-10-24T23:45Z",
      "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T01:00 2026-10-25T01:30 2026-10-25T02:00",
    ],
  ])("%s", (_what, cron, from, due) => {
    const expected = due.split(" ");
    expect(timesOf(cron, "Europe/Berlin", from, expected.length)).toEqual(expected);
  });

  test("half an hour of Lord Howe is a gap like any other", () => {
    expect(timesOf("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00Z", 2)).toEqual([
      "2026-10-03T15:30",
      "2026-10-04T15:15",
    ]);
  });
});

test("due times ascend, are whole minutes, and are the same from wherever the count begins", () => {
  const rule = fc.record({
    cron: fc.constantFrom(
      "*/7 * * * *",
      "30 2 * * *",
      "0 */3 * * *",
      "5,35 1-3 * * *",
      "0 0 L * *",
      "0 9 * * MON-FRI",
    ),
    timeZone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"),
  });
  const fromMs = fc.integer({ min: Date.parse("2026-01-01"), max: Date.parse("2028-01-01") });
  fc.assert(
    fc.property(rule, fromMs, fc.integer({ min: 1, max: 12 }), (one, from, at) => {
      const times = dueTimes(one);
      const due = dueWithin(times, from, Infinity, 14);
      expect(due).toHaveLength(14);
      expect(due.every((ms, index) => ms % 60_000 === 0 && ms > (due[index - 1] ?? from))).toBe(true);
      expect(dueWithin(times, due[at - 1] ?? from, due[at] ?? from, 14)).toEqual([due[at]]);
    }),
    fuzzRuns(200),
  );
});

test.each([
  ["0 2 * *", "UTC", "bad-cron"],
  ["0 0 2 * * *", "UTC", "bad-cron"],
  ["@daily", "UTC", "bad-cron"],
  ["2026-01-01T00:00:00", "UTC", "bad-cron"],
  ["61 * * * *", "UTC", "bad-cron"],
  ["a b c d e", "UTC", "bad-cron"],
  ["0 2 * * *", "Europe/Berln", "bad-time-zone"],
  ["0 2 * * *", "", "bad-time-zone"],
])("the cron expression %j in %j is refused with %s", (cron, timeZone, code) => {
  expect(() => dueTimes({ cron, timeZone })).toThrow(expect.objectContaining({ code, reason: "invalid" }));
});

test("an expression that never fits has no due time", () => {
  expect(dueTimes({ cron: "0 0 30 2 *", timeZone: "UTC" }).nextAfter(0)).toBeUndefined();
});

test("templates are filled in the time zone, also in lists and objects, and other braces stay", () => {
  const dueMs = Date.parse("2026-02-28T23:30Z");
  const params = {
    source: "inputs/{date}/{hour}{minute}/",
    list: [{ key: "{year}{month}{day}T{hour}{minute}" }, 7, null, true],
    before: "{date-1} {date+1} {date-60}",
    other: "{a,b} {dat} {4} {} {date-}",
  };
  expect(fillTemplates(params, dueMs, "Europe/Berlin")).toEqual({
    source: "inputs/2026-03-01/0030/",
    list: [{ key: "20260301T0030" }, 7, null, true],
    before: "2026-02-28 2026-03-02 2025-12-31",
    other: "{a,b} {dat} {4} {} {date-}",
  });
});
