import fc from "fast-check";
import { expect, test } from "vitest";
import { decideSchedule, settle, wantsLeader } from "../../src/engine/leader/decide/schedule.ts";
import { dueTimes, dueWithin } from "../../src/engine/model/dueTimes.ts";
import {
  decodeMarks,
  delayMsOf,
  encodeMarks,
  type Marks,
  type Schedule,
} from "../../src/engine/model/schedule.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";

const startMs = Date.parse("2026-11-23T00:00Z");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const schedule = (change: Partial<Schedule> = {}): Schedule => ({
  ...{
    name: "s",
    cron: "0 * * * *",
    timeZone: "UTC",
    overlap: "skip",
    catchUpMs: hourMs,
    take: "latest",
    jitterS: 0,
  },
  ...{ request: { calculation: "ranges", params: {}, cap: 10 } },
  ...change,
});
const marksAt = (cursor: number, change: Partial<Marks> = {}): Marks => ({
  ...{ cursor, next: cursor, pending: [], waits: false, recent: [] },
  ...change,
});
const hours = (...numbers: number[]): number[] => numbers.map((hour) => startMs + hour * hourMs);

function decide(one: Schedule, marks: Marks, nowMs: number, activeDue: readonly number[] = [], any = false) {
  const active = { due: new Set(activeDue), any: any || activeDue.length > 0 };
  return decideSchedule(one, dueTimes(one), { marks, active, nowMs });
}

test("nothing is decided before something is due, and the marks stay the very same", () => {
  const marks = marksAt(startMs, { next: startMs + hourMs });
  expect(decide(schedule(), marks, startMs + hourMs - 1).marks).toBe(marks);
  expect(wantsLeader(marks, false, startMs + hourMs - 1)).toBe(false);
  expect(wantsLeader(marks, false, startMs + hourMs)).toBe(true);
});

test.each([
  // overlap, due hours, active, then pending, ready, skipped, cancels
  { overlap: "skip", active: [], pending: [3], ready: [3], skipped: [], cancels: false },
  { overlap: "skip", active: [1], pending: [], ready: [], skipped: [3], cancels: false },
  { overlap: "queue", active: [], pending: [3], ready: [3], skipped: [], cancels: false },
  { overlap: "queue", active: [1], pending: [3], ready: [], skipped: [], cancels: false },
  { overlap: "cancel", active: [], pending: [3], ready: [3], skipped: [], cancels: false },
  { overlap: "cancel", active: [1], pending: [3], ready: [], skipped: [], cancels: true },
  { overlap: "allow", active: [1], pending: [3], ready: [3], skipped: [], cancels: false },
] as const)("where a run is active ($active), overlap $overlap takes $pending", (row) => {
  const got = decide(
    schedule({ overlap: row.overlap }),
    marksAt(hours(2)[0] ?? 0),
    startMs + 3 * hourMs,
    hours(...row.active),
  );
  expect(got.marks.pending).toEqual(hours(...row.pending));
  expect(got.ready).toEqual(hours(...row.ready));
  expect(got.decided).toEqual(hours(...row.skipped).map((dueMs) => ({ dueMs, outcome: "overlap" })));
  expect(got.cancels).toBe(row.cancels);
});

test("a queue hands out one at a time, and a due time that has a marker was submitted", () => {
  const one = schedule({ overlap: "queue", take: "all", catchUpMs: 12 * hourMs });
  const first = decide(one, marksAt(startMs), startMs + 3 * hourMs);
  expect([first.marks.pending, first.ready]).toEqual([hours(1, 2, 3), hours(1)]);
  const second = decide(one, first.marks, startMs + 3 * hourMs + 1_000, hours(1));
  expect([second.marks.pending, second.ready]).toEqual([hours(2, 3), []]);
  expect(second.marks.recent).toEqual([{ dueMs: hours(1)[0], outcome: "submitted" }]);
  expect(wantsLeader(second.marks, true, startMs + 3 * hourMs + 1_000)).toBe(false);
  const third = decide(one, second.marks, startMs + 3 * hourMs + 2_000);
  expect(third.ready).toEqual(hours(2));
  expect(wantsLeader(second.marks, false, startMs + 3 * hourMs + 2_000)).toBe(true);
});

test("overlap cancel keeps the newest that waits only", () => {
  const one = schedule({ overlap: "cancel" });
  const before = marksAt(hours(2)[0] ?? 0, { pending: hours(2) });
  const got = decide(one, before, startMs + 3 * hourMs, hours(1));
  expect(got.marks.pending).toEqual(hours(3));
  expect(got.decided).toEqual([{ dueMs: hours(2)[0], outcome: "overlap" }]);
});

test("a hundred missed due times are one run of the latest, and one word of the others", () => {
  const one = schedule({ cron: "*/5 * * * *" });
  const got = decide(one, marksAt(startMs), startMs + 100 * 5 * minuteMs + 30_000);
  expect(got.ready).toEqual([startMs + 500 * minuteMs]);
  expect(got.decided).toEqual([{ dueMs: startMs + 5 * minuteMs, outcome: "missed", count: 99 }]);
});

test("take all takes those within the window, the newest hundred at most", () => {
  const hour = decide(
    schedule({ cron: "*/5 * * * *", take: "all", overlap: "allow" }),
    marksAt(startMs),
    startMs + 500 * minuteMs,
  );
  expect(hour.ready).toHaveLength(12);
  const one = schedule({ cron: "* * * * *", take: "all", overlap: "allow", catchUpMs: 5 * hourMs });
  const many = decide(one, marksAt(startMs), startMs + 290 * minuteMs);
  expect([many.ready.length, many.ready.at(-1)]).toEqual([100, startMs + 290 * minuteMs]);
  expect(many.decided).toEqual([{ dueMs: startMs + minuteMs, outcome: "missed", count: 190 }]);
});

test("a due time is taken to the end of its window, and never after", () => {
  const daily = schedule({ cron: "0 2 * * *", catchUpMs: hourMs });
  const cursor = marksAt(startMs);
  expect(decide(daily, cursor, startMs + 3 * hourMs - 1).ready).toEqual(hours(2));
  const late = decide(daily, cursor, startMs + 3 * hourMs);
  expect(late.ready).toEqual([]);
  expect(late.decided).toEqual([{ dueMs: hours(2)[0], outcome: "missed", count: 1 }]);
  expect(late.marks.next).toBe(startMs + 26 * hourMs);
});

test("a paused schedule decides nothing, but learns what was submitted", () => {
  const marks = marksAt(startMs, { paused: "asked", pending: hours(1) });
  const got = decide(schedule(), marks, startMs + 5 * hourMs, hours(1));
  expect(got.marks.pending).toEqual([]);
  expect([got.ready, got.marks.cursor, wantsLeader(marks, false, startMs + 5 * hourMs)]).toEqual([
    [],
    startMs,
    false,
  ]);
});

test("jitter delays every due time of a schedule by the same, and no schedule by more", () => {
  const one = schedule({ jitterS: 600, catchUpMs: hourMs });
  const marks = marksAt(startMs);
  const at = (afterMs: number) => decide(one, marks, startMs + hourMs + afterMs).ready.length;
  const delayMs = delayMsOf(one);
  expect(delayMs).toBeLessThanOrEqual(600_000);
  expect([at(delayMs - 1), at(delayMs)]).toEqual([0, 1]);
  expect(decide(one, marks, startMs + 2 * hourMs).marks.next).toBe(startMs + 2 * hourMs + delayMs);
});

test("whatever is decided when, each due time has one word, none comes from outside of its window, and marks survive metadata", () => {
  const rule = fc.record({
    overlap: fc.constantFrom("skip", "queue", "cancel", "allow"),
    take: fc.constantFrom("latest", "all"),
    cron: fc.constantFrom("0 * * * *", "7,9 */2 * * *"),
    catchUpMs: fc.integer({ min: 5, max: 600 }).map((minutes) => minutes * minuteMs),
    jitterS: fc.integer({ min: 0, max: 200 }),
  });
  // Each look: how long after the one before, whether what is ready is submitted, whether active runs end, and a clock set back.
  const look = fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: hourMs }), fc.integer({ min: 0, max: 40 * hourMs })),
    submits: fc.boolean(),
    ends: fc.boolean(),
    backMs: fc.constantFrom(0, 0, 0, 180_000),
  });
  fc.assert(
    fc.property(rule, fc.array(look, { minLength: 5, maxLength: 30 }), (change, looks) => {
      const one = schedule(change as Partial<Schedule>);
      const times = dueTimes(one);
      let marks = marksAt(startMs);
      let nowMs = startMs;
      const submitted: number[] = [];
      const told: number[] = [];
      let active: number[] = [];
      for (const { afterMs, submits, ends, backMs } of looks) {
        nowMs += afterMs;
        if (ends) active = [];
        const seenMs = nowMs - backMs;
        const before = marks;
        const got = decide(one, marks, seenMs, active);
        expect(got.marks.cursor).toBeGreaterThanOrEqual(before.cursor);
        for (const { dueMs, count = 1 } of got.decided)
          told.push(...dueWithin(times, dueMs - 1, Infinity, count));
        const fresh = got.marks.pending.filter((dueMs) => !before.pending.includes(dueMs));
        for (const dueMs of fresh) expect(seenMs - dueMs).toBeLessThan(one.catchUpMs + 200_000);
        if (one.overlap !== "allow" && active.length > 0)
          expect(
            got.ready.filter((due) => !active.includes(due)).length === 0 || one.overlap === "skip",
          ).toBe(true);
        marks = decodeMarks(encodeMarks(got.marks), "s");
        expect(marks).toEqual(got.marks);
        if (!submits) continue;
        submitted.push(...got.ready);
        active.push(...got.ready);
        marks = settle(
          marks,
          got.ready.map((dueMs) => ({ dueMs, outcome: "submitted" })),
        );
      }
      const words = [...submitted, ...told, ...marks.pending].sort((a, b) => a - b);
      expect(new Set(words).size).toBe(words.length);
      expect(words).toEqual(dueWithin(times, startMs, marks.cursor, words.length + 10));
    }),
    fuzzRuns(100),
  );
});
