import { type DueTimes, dueWithin } from "../../model/dueTimes.ts";
import {
  type Decided,
  delayMsOf,
  isTriggered,
  type Marks,
  type Schedule,
  scheduleLimits,
  waitsFor,
} from "../../model/schedule.ts";

/** What the list of the markers tells of the runs of a schedule. */
export interface ActiveRuns {
  /** Due times whose runs have a marker. */
  readonly due: ReadonlySet<number>;
  /** Any run of it, those included that a person triggered. */
  readonly any: boolean;
}

interface Decision {
  /** The very same marks if nothing changes. They are written before anything is submitted. */
  readonly marks: Marks;
  /** Due times to submit now, of those that are pending. */
  readonly ready: readonly number[];
  /** The active runs are to be cancelled first. */
  readonly cancels: boolean;
  /** What these marks decide, for the log. */
  readonly decided: readonly Decided[];
}

/** Whether a leader has something to do for a schedule. One that waits for a run that rests has not. */
export const wantsLeader = (marks: Marks, any: boolean, nowMs: number): boolean =>
  marks.paused === "deleted" ||
  (marks.paused === undefined && (marks.next ?? Infinity) <= nowMs) ||
  (served(marks).length > 0 && !(marks.waits && any));

/** A pause holds up all but what a person triggers. */
const served = ({ paused, pending }: Marks): readonly number[] => {
  if (paused === undefined) return pending;
  return paused === "asked" ? pending.filter(isTriggered) : [];
};

/**
 * Decides each due time in (cursor, now] once: it is pending, or it is told why not. Pure. `nowMs` is storage's time of the list
 * that told of `marks` and `active`.
 */
export function decideSchedule(
  schedule: Schedule,
  times: DueTimes,
  { marks, active, nowMs }: DecideAt,
): Decision {
  // A marker proves that its due time was submitted, by whichever leader.
  const there = marks.pending.filter((dueMs) => active.due.has(dueMs));
  const settled = settle(
    marks,
    there.map((dueMs) => ({ dueMs, outcome: "submitted" })),
  );
  const { marks: now, decided } =
    marks.paused === undefined
      ? decideDue(schedule, times, { marks: settled, active, nowMs })
      : { marks: settled, decided: [] };
  const waiting = served(now);
  const ready = schedule.overlap === "allow" ? waiting : active.any ? [] : waiting.slice(0, 1);
  const cancels = schedule.overlap === "cancel" && active.any && waiting.length > 0;
  return { marks: now, ready, cancels, decided };
}

type DecideAt = { readonly marks: Marks; readonly active: ActiveRuns; readonly nowMs: number };

function decideDue(
  schedule: Schedule,
  times: DueTimes,
  { marks, active, nowMs }: DecideAt,
): Pick<Decision, "marks" | "decided"> {
  const delayMs = delayMsOf(schedule);
  const { taken, missed, untilMs } = dueNow(schedule, times, marks.cursor, nowMs - delayMs);
  // Other data of time zones may have told of a due time that there is none.
  const moves = taken.length > 0 || missed.length > 0 || (marks.next ?? Infinity) <= nowMs;
  // A time that storage gave twice, or set back, decides nothing anew.
  if (!moves || untilMs <= marks.cursor) return { marks, decided: [] };
  const { pending, skipped } = overlapping(schedule, marks.pending, taken, active);
  const decided = [...missed, ...skipped];
  const next = times.nextAfter(untilMs);
  const recent = latest([...marks.recent, ...decided]);
  const of = { cursor: untilMs, next: next === undefined ? undefined : next + delayMs };
  return { marks: { ...marks, ...of, pending, waits: waitsFor(schedule), recent }, decided };
}

/** The marks once these pending due times have an outcome. */
export function settle(marks: Marks, ends: readonly Decided[]): Marks {
  if (ends.length === 0) return marks;
  const over = new Set(ends.map(({ dueMs }) => dueMs));
  const pending = marks.pending.filter((dueMs) => !over.has(dueMs));
  return { ...marks, pending, recent: latest([...marks.recent, ...ends]) };
}

const latest = (recent: readonly Decided[]): readonly Decided[] => recent.slice(-scheduleLimits.recentMax);

/** The due times of (cursor, until] that are taken, and those that are missed: before the window, or not the latest. */
function dueNow(
  { catchUpMs, take }: Pick<Schedule, "catchUpMs" | "take">,
  times: DueTimes,
  cursor: number,
  nowMs: number,
): { readonly taken: readonly number[]; readonly missed: readonly Decided[]; readonly untilMs: number } {
  const { windowTimesMax, missedMax, pendingMax } = scheduleLimits;
  const fromMs = Math.max(cursor, nowMs - catchUpMs);
  const late = dueWithin(times, cursor, fromMs, missedMax);
  const due = dueWithin(times, fromMs, nowMs, windowTimesMax);
  const untilMs = due.length === windowTimesMax ? (due.at(-1) ?? nowMs) : nowMs;
  const taken = due.slice(take === "latest" ? -1 : -pendingMax);
  const missed = [...late, ...due.slice(0, due.length - taken.length)];
  const [dueMs] = missed;
  if (dueMs === undefined) return { taken, missed: [], untilMs };
  return { taken, missed: [{ dueMs, outcome: "missed", count: missed.length }], untilMs };
}

function overlapping(
  { overlap }: Pick<Schedule, "overlap">,
  before: readonly number[],
  taken: readonly number[],
  { any }: ActiveRuns,
): { readonly pending: readonly number[]; readonly skipped: readonly Decided[] } {
  const all = [...new Set([...before, ...taken])];
  const kept = {
    allow: all.slice(0, scheduleLimits.pendingMax),
    queue: all.slice(0, scheduleLimits.pendingMax),
    cancel: taken.length === 0 ? before : all.slice(-1),
    // What was pending before is perhaps submitted.
    skip: before.length > 0 || any ? before : taken.slice(0, 1),
  }[overlap];
  const skipped = all.filter((dueMs) => !kept.includes(dueMs));
  return { pending: kept, skipped: skipped.map((dueMs) => ({ dueMs, outcome: "overlap" })) };
}
