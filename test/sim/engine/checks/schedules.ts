import { type DueTimes, dueTimes, dueWithin } from "../../../../src/engine/model/dueTimes.ts";
import { parseScheduledRun, scheduleBlobs } from "../../../../src/engine/model/names.ts";
import {
  decodeMarks,
  isTriggered,
  type Marks,
  type Schedule,
} from "../../../../src/engine/model/schedule.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import type { Written } from "./effects.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

const checker = "a due time is decided once";
/** A request may lie in the socket of a process that sleeps. */
const lateMs = 300_000;

interface Seen {
  readonly schedule: Schedule;
  readonly times: DueTimes;
  marks: Marks;
  /** Due times that have a word. */
  readonly told: Set<number>;
}

/**
 * Each due time of a schedule is either told to have no run, or has exactly one, which begins once and within its window; and
 * what was deleted does not begin anew.
 */
export function dueTimesAreDecidedOnce({ ledger, nowMs, report }: Scene): Check {
  const schedules = new Map<string, Seen>();
  /** Runs that were accepted, by id: their uid, and whether their spec was deleted since. */
  const accepted = new Map<string, { readonly uid: string; gone: boolean }>();

  const begins = (id: string, uid: string): void => {
    const scheduled = parseScheduledRun(id);
    const run = ledger.current(id, "spec");
    if (scheduled === undefined || run?.uid !== uid) return;
    if (run.spec?.schedule !== scheduled.schedule) return;
    const before = accepted.get(id);
    if (before !== undefined && (before.gone || before.uid !== uid)) report(checker, `${id} begins again`);
    if (before !== undefined) return;
    accepted.set(id, { uid, gone: false });
    const seen = schedules.get(scheduled.schedule);
    if (seen === undefined) return;
    const { schedule, times, marks } = seen;
    if (!isTriggered(scheduled.ms) && times.nextAfter(scheduled.ms - 1) !== scheduled.ms)
      report(checker, `${id} is not due`);
    if (!marks.pending.includes(scheduled.ms)) report(checker, `${id} begins before that is recorded`);
    if (schedule.overlap === "allow" && nowMs() - scheduled.ms > schedule.catchUpMs + lateMs)
      report(checker, `${id} begins after its window`);
  };

  const moves = (name: string, effect: Written): void => {
    const marks = decodeMarks(effect.metadata, name);
    const seen = schedules.get(name);
    if (effect.kind !== "marked" || seen === undefined) {
      const schedule = parsed<Schedule>(effect.body);
      schedules.set(name, { schedule, times: dueTimes(schedule), marks, told: new Set() });
      return;
    }
    const { schedule, times, marks: before, told } = seen;
    seen.marks = marks;
    if (marks.cursor < before.cursor) report(checker, `the cursor of ${name} goes back`);
    const known = new Set(before.recent.map((one) => JSON.stringify(one)));
    const fresh = marks.recent.filter((one) => !known.has(JSON.stringify(one)));
    const words = fresh.flatMap(({ dueMs, outcome, count = 1 }) =>
      (count === 1 ? [dueMs] : dueWithin(times, dueMs - 1, Infinity, count)).map((at) => ({ at, outcome })),
    );
    for (const { at, outcome } of words) {
      if (told.has(at)) report(checker, `${name} tells twice of ${new Date(at).toISOString()}`);
      told.add(at);
      const id = [...accepted.keys()].find(
        (one) => parseScheduledRun(one)?.ms === at && one.startsWith(name),
      );
      if (outcome === "submitted" && id === undefined) report(checker, `${name} tells of a run that is none`);
    }
    // A resumed schedule leaves out what was due meanwhile.
    const from = before.paused === undefined ? before.cursor : marks.cursor;
    const due = [...before.pending, ...dueWithin(times, from, marks.cursor, 1_000)];
    for (const at of due)
      if (!told.has(at) && !marks.pending.includes(at))
        report(checker, `${schedule.name} forgets ${new Date(at).toISOString()}`);
  };

  return (effect) => {
    if (effect.kind === "sent") return;
    const place = placeOf(effect.container, effect.name);
    const name = effect.container === names.active ? nameIn(effect.name) : undefined;
    if (name !== undefined) {
      if (effect.kind === "removed") schedules.delete(name);
      else moves(name, effect);
    } else if (place.kind === "marker" && effect.kind === "created") {
      begins(place.id, effect.metadata["uid"] ?? "");
    } else if (place.kind === "spec" && effect.kind === "removed") {
      const run = accepted.get(place.id);
      if (run !== undefined) run.gone = true;
    }
  };
}

const nameIn = (blob: string): string | undefined =>
  blob.startsWith(scheduleBlobs) ? blob.slice(scheduleBlobs.length) : undefined;
