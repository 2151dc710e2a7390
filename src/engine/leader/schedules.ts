import { dueTimes } from "../model/dueTimes.ts";
import { CorruptDataError, InputError, messageOf, OtherVersionError, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { parseScheduledRun, scheduleBlobs, scheduledRunId } from "../model/names.ts";
import {
  type Decided,
  decodeMarks,
  decodeSchedule,
  encodeMarks,
  isTriggered,
  type Marks,
  scheduleLimits,
} from "../model/schedule.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type ActiveRuns, decideSchedule, settle, wantsLeader } from "./decide/schedule.ts";
import { cancelRuns, submitDue } from "./perform/submitDue.ts";
import type { CoordinatorPorts, Term } from "./term.ts";

/**
 * Submits the runs of schedules that are due (rule 34): decided and recorded first, then spec, then marker, and the end of it
 * recorded. So each due time has one run or an outcome that says why not, whoever dies.
 *
 * Not promised: that parameters fit the code of the day. They were checked when the schedule was made; workers check them
 * again, and the run fails and says so.
 */

/** The markers of one list, and schedules among them. */
export interface Listed {
  readonly blobs: readonly ListedBlob[];
  /** Storage's time of the list. */
  readonly nowMs: number;
}

interface Known {
  readonly blob: ListedBlob;
  readonly marks: Marks;
  readonly active: ActiveRuns;
}

type Telling = Pick<CoordinatorPorts, "log" | "told">;

/** Whether any schedule wants a leader. */
export const anyScheduleDue = (ports: Telling, listed: Listed): boolean =>
  schedulesIn(ports, listed).some(({ marks, active }) => wantsLeader(marks, active.any, listed.nowMs));

/** By name. Each process tells once of one that it cannot read. */
function schedulesIn({ log, told }: Telling, { blobs }: Listed): readonly Known[] {
  const schedules = blobs.filter(({ name }) => name.startsWith(scheduleBlobs));
  if (schedules.length === 0) return [];
  const runs = Map.groupBy(
    blobs.flatMap(({ name }) => parseScheduledRun(name) ?? []),
    ({ schedule }) => schedule,
  );
  return schedules.flatMap((blob) => {
    try {
      const own = runs.get(blob.name.slice(scheduleBlobs.length)) ?? [];
      const due = new Set(own.map(({ ms }) => ms));
      return [{ blob, marks: decodeMarks(blob.metadata, blob.name), active: { due, any: own.length > 0 } }];
    } catch (error) {
      if (!told.has(blob.name)) {
        told.add(blob.name);
        if (error instanceof OtherVersionError)
          log(logEvents.needsOtherVersion({ run: blob.name, uid: "", message: error.message }));
        else log(logEvents.strayMarker({ name: blob.name.slice(0, 80) }));
      }
      return [];
    }
  });
}

interface Kept {
  /** Something was written, so that the list is outdated. */
  readonly moved: boolean;
  /** Whether a run may still be submitted by its schedule: it is not deleted meanwhile, or it would begin anew. */
  unsettled(run: string): boolean;
}

/** Serves each schedule that is due. The failure of one is its own. */
export async function keepSchedules(term: Term, listed: Listed): Promise<Kept> {
  const { leader, backoff, clock } = term;
  const known = schedulesIn(term, listed);
  const marks = new Map(known.map(({ blob, marks: now }) => [blob.name.slice(scheduleBlobs.length), now]));
  const due = known
    .filter(({ marks: { pending }, active }) => pending.some((dueMs) => active.due.has(dueMs)))
    .concat(known.filter(({ marks: now, active }) => wantsLeader(now, active.any, listed.nowMs)))
    .filter((one, at, all) => all.indexOf(one) === at)
    .filter(({ blob: { name, etag } }) => !backoff.waits({ id: name, etag }, clock.monotonicMs()))
    .slice(0, scheduleLimits.perLoop);
  let moved = false;
  for (let from = 0; from < due.length && !leader.signal.aborted; from += limits.runsAtOnce) {
    await Promise.all(
      due.slice(from, from + limits.runsAtOnce).map(async (one) => {
        const now = await keepOne(term, one, listed);
        if (now === one.marks) return;
        moved = true;
        marks.set(one.blob.name.slice(scheduleBlobs.length), now);
      }),
    );
    leader.progress();
  }
  return {
    moved,
    unsettled(run) {
      const scheduled = parseScheduledRun(run);
      const of = scheduled && marks.get(scheduled.schedule);
      if (of === undefined || scheduled === undefined) return false;
      if (of.pending.includes(scheduled.ms)) return true;
      return of.paused === undefined && scheduled.ms > of.cursor && !isTriggered(scheduled.ms);
    },
  };
}

/** The marks as last confirmed; the very same where nothing was written. */
async function keepOne(term: Term, known: Known, listed: Listed): Promise<Marks> {
  const { leader, backoff, clock, log } = term;
  const { name: id, etag } = known.blob;
  try {
    return await serve(term, known, listed);
  } catch (error) {
    leader.assertLeading();
    if (!(error instanceof StorageError)) throw error;
    const { message, storageCode, kind } = error;
    if (backoff.add({ id, etag }, clock.monotonicMs()))
      log(logEvents.runSkipped({ run: id, uid: "", code: storageCode || kind, message }));
    return known.marks;
  }
}

async function serve(term: Term, { blob, marks, active }: Known, listed: Listed): Promise<Marks> {
  const { storage, names, leader } = term;
  const at = [names.active, blob.name] as const;
  const found = await storage.blobs.read(...at, { signal: leader.lost });
  if (found.kind === "missing" || found.properties.etag !== blob.etag) return marks;
  let etag: string | undefined = blob.etag;
  const write = async (next: Marks): Promise<boolean> => {
    leader.assertLeading();
    const options = { ifMatch: etag ?? "", signal: leader.lost };
    const reply = await storage.blobs.setMetadata(...at, encodeMarks(next), options);
    etag = reply.kind === "replaced" ? reply.etag : undefined;
    return etag !== undefined;
  };
  if (marks.paused === "deleted") {
    leader.assertLeading();
    await storage.blobs.remove(...at, { ifMatch: blob.etag, signal: leader.lost });
    return marks;
  }
  const schedule = readable(term, found.body, blob.name);
  if (schedule === undefined) {
    const stopped: Marks = { ...marks, paused: "unreadable", next: undefined };
    return (await write(stopped)) ? stopped : marks;
  }

  const { name } = schedule.value;
  const decision = decideSchedule(schedule.value, schedule.times, { marks, active, nowMs: listed.nowMs });
  if (decision.marks !== marks && !(await write(decision.marks))) return marks;
  for (const one of decision.decided) tellSkipped(term, name, one);
  if (decision.cancels) await cancelRuns(term, name, listed.blobs);
  const ends: Decided[] = [];
  const before = decision.marks.recent.flatMap((one) => (one.outcome === "submitted" ? [one.dueMs] : []));
  for (const dueMs of decision.ready) {
    const outcome = await submitDue(term, schedule.value, dueMs, { at, etag: etag ?? "", before });
    if (outcome === "later") continue;
    ends.push({ dueMs, outcome });
    if (outcome !== "submitted") tellSkipped(term, name, { dueMs, outcome });
    else {
      const lateS = Math.max(0, (listed.nowMs - dueMs) / 1_000);
      term.log(logEvents.scheduleSubmitted({ schedule: name, run: scheduledRunId(name, dueMs), lateS }));
    }
  }
  const settled = settle(decision.marks, ends);
  return settled !== decision.marks && (await write(settled)) ? settled : decision.marks;
}

/** Undefined for a body that does not decode: it is told once, as the schedule then stops. */
function readable({ log }: Term, body: Uint8Array, name: string) {
  try {
    const value = decodeSchedule(body, name);
    return { value, times: dueTimes(value) };
  } catch (error) {
    if (!(error instanceof CorruptDataError) && !(error instanceof InputError)) throw error;
    log(logEvents.scheduleStopped({ schedule: name, message: messageOf(error) }));
    return undefined;
  }
}

const tellSkipped = ({ log }: Term, schedule: string, { dueMs, outcome, count = 1 }: Decided): void =>
  log(
    logEvents.scheduleSkipped({ schedule, due: new Date(dueMs).toISOString(), why: outcome, times: count }),
  );
