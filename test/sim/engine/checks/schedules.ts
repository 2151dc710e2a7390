import { type DueTimes, dueTimes } from "../../../../src/engine/model/dueTimes.ts";
import { parseScheduledRun, scheduleBlobs, scheduledRunId } from "../../../../src/engine/model/names.ts";
import {
  decodeMarks,
  type Marks,
  type Schedule,
  scheduleLimits,
} from "../../../../src/engine/model/schedule.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { startWallMs } from "../../../support/virtualClock.ts";
import type { Written } from "./effects.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf } from "./ledger.ts";

const checker = "a due time is decided once";
/** A request may lie in the socket of a process that sleeps. */
const socketMs = 300_000;

interface Seen {
  readonly times: DueTimes;
  marks: Marks;
}

/**
 * Each due time of a schedule either is skipped or has exactly one run, which begins once and within its hour; and what was
 * deleted does not begin anew.
 */
export function dueTimesAreDecidedOnce({ ledger, nowMs, report }: Scene): Check {
  const schedules = new Map<string, Seen>();
  /** Runs that were accepted, by id: their uid, and whether their spec was deleted since. */
  const accepted = new Map<string, { readonly uid: string; gone: boolean }>();
  const { lateMsMax } = scheduleLimits;
  const wallMs = (): number => startWallMs + nowMs();

  const begins = (id: string, uid: string): void => {
    const scheduled = parseScheduledRun(id);
    const run = ledger.current(id, "spec");
    if (scheduled === undefined || run?.uid !== uid || run.spec?.schedule !== scheduled.schedule) return;
    const before = accepted.get(id);
    if (before !== undefined && (before.gone || before.uid !== uid)) report(checker, `${id} begins again`);
    if (before !== undefined) return;
    accepted.set(id, { uid, gone: false });
    const times = schedules.get(scheduled.schedule)?.times;
    if (times === undefined || !run.spec.by?.startsWith("schedule ")) return;
    if (times.nextAfter(scheduled.ms - 1) !== scheduled.ms) report(checker, `${id} is not due`);
    if (wallMs() - scheduled.ms > lateMsMax + socketMs) report(checker, `${id} begins after its hour`);
  };

  const moves = (name: string, effect: Written): void => {
    const marks = decodeMarks(effect.metadata, name);
    const seen = schedules.get(name);
    // A stranger wrote it, past the checkers.
    if (effect.kind === "marked" && seen === undefined) return;
    if (effect.kind !== "marked" || seen === undefined) {
      schedules.set(name, { times: dueTimes(parsed<Schedule>(effect.body)), marks });
      return;
    }
    const { times, marks: before } = seen;
    seen.marks = marks;
    const { next: dueMs = Infinity } = before;
    const { next = Infinity } = marks;
    if (next < dueMs) report(checker, `${name} goes back`);
    // A resumed schedule leaves out what was due meanwhile.
    if (next === dueMs || before.paused !== undefined) return;
    const due = new Date(dueMs).toISOString();
    const isRun = accepted.has(scheduledRunId(name, dueMs));
    if (marks.last === dueMs && !isRun) report(checker, `${name} tells of a run that is none: ${due}`);
    if (marks.skipped === dueMs && isRun) report(checker, `${name} skips ${due}, which has a run`);
    if (marks.last !== dueMs && marks.skipped !== dueMs) report(checker, `${name} forgets ${due}`);
    for (let at = times.nextAfter(dueMs) ?? Infinity; at < next; at = times.nextAfter(at) ?? Infinity)
      if (marks.skipped !== dueMs || wallMs() - at < lateMsMax - 1_000)
        report(checker, `${name} forgets ${new Date(at).toISOString()}`);
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
