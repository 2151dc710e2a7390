import pMap from "p-map";
import { unlessCorrupt } from "../model/decode.ts";
import { dueTimes } from "../model/dueTimes.ts";
import { LeasefoldError, messageOf, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { parseScheduledRun, scheduleBlobs, scheduledRunId } from "../model/names.ts";
import {
  checkScheduleBlob,
  decodeMarks,
  decodeSchedule,
  encodeMarks,
  type Marks,
  scheduleLimits,
} from "../model/schedule.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { submitDue } from "./perform/submitDue.ts";
import type { CoordinatorPorts, Term } from "./term.ts";

/**
 * Decides each due time of the schedules once (rule *schedules*): it is skipped, or has a run.
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
  readonly name: string;
  readonly marks: Marks;
}

type Telling = Pick<CoordinatorPorts, "log" | "told">;

/** Whether any schedule wants a leader. */
export const anyScheduleDue = (ports: Telling, listed: Listed): boolean =>
  schedulesIn(ports, listed).some((one) => wantsLeader(one, listed.nowMs));

const wantsLeader = ({ marks: { paused, next = Infinity } }: Known, nowMs: number): boolean =>
  paused === "deleted" || (paused === undefined && next <= nowMs);

/** Each process tells once of one that it cannot read. */
const schedulesIn = ({ log, told }: Telling, { blobs }: Listed): readonly Known[] =>
  blobs.flatMap((blob) => {
    if (!blob.name.startsWith(scheduleBlobs)) return [];
    const name = blob.name.slice(scheduleBlobs.length);
    try {
      checkScheduleBlob(blob.name);
      return [{ blob, name, marks: decodeMarks(blob.metadata, blob.name) }];
    } catch (error) {
      if (!told.has(blob.name)) log(logEvents.scheduleStopped({ schedule: name, message: messageOf(error) }));
      told.add(blob.name);
      return [];
    }
  });

interface Kept {
  /** Something was written, so that the list is outdated. */
  readonly moved: boolean;
  /** Whether a schedule may still submit this run, which is not deleted meanwhile: it would begin anew. */
  unsettled(run: string): boolean;
}

/** Decides the next due time of each schedule that is due. The failure of one is its own. */
export async function keepSchedules(term: Term, listed: Listed): Promise<Kept> {
  const { leader, backoff, clock, log } = term;
  const known = schedulesIn(term, listed);
  const marks = new Map(known.map((one) => [one.name, one.marks]));
  let moved = false;
  const keepOne = async (one: Known): Promise<void> => {
    const at = { id: one.blob.name, etag: one.blob.etag };
    if (leader.signal.aborted || backoff.waits(at, clock.monotonicMs())) return;
    try {
      const now = await keepSchedule(term, one, listed);
      if (now !== undefined) marks.set(one.name, now);
      moved ||= now !== undefined;
    } catch (error) {
      leader.assertLeading();
      const known = error instanceof LeasefoldError ? error.code : "unexpected";
      const code = error instanceof StorageError ? error.storageCode || error.kind : known;
      if (backoff.add(at, clock.monotonicMs()))
        log(logEvents.runSkipped({ run: at.id, uid: "", code, message: messageOf(error) }));
    }
    leader.progress();
  };
  const due = known.filter((one) => wantsLeader(one, listed.nowMs));
  await pMap(due, keepOne, { concurrency: limits.runsAtOnce });
  return {
    moved,
    unsettled(run) {
      const { schedule = "", ms = 0 } = parseScheduledRun(run) ?? {};
      const { paused, next = Infinity } = marks.get(schedule) ?? {};
      return paused === undefined && ms >= next;
    },
  };
}

/** The marks that were written; undefined if nothing was. */
async function keepSchedule(term: Term, known: Known, { blobs, nowMs }: Listed): Promise<Marks | undefined> {
  const { storage, names, leader, log } = term;
  const { blob, name, marks } = known;
  const at = [names.active, blob.name] as const;
  const how = { ifMatch: blob.etag, signal: leader.lost };
  const write = async (change: Marks): Promise<Marks | undefined> => {
    leader.assertLeading();
    const now = { ...marks, ...change };
    const reply = await storage.blobs.setMetadata(...at, encodeMarks(now), how);
    return reply.kind === "replaced" ? now : undefined;
  };
  if (marks.paused === "deleted") {
    leader.assertLeading();
    await storage.blobs.remove(...at, how);
    return undefined;
  }
  const found = await storage.blobs.read(...at, { signal: leader.lost });
  if (found.kind === "missing" || found.properties.etag !== blob.etag) return undefined;
  const schedule = await unlessCorrupt(() => decodeSchedule(found.body, blob.name));
  if (schedule === undefined) {
    log(logEvents.scheduleStopped({ schedule: name, message: "its document does not decode" }));
    return await write({ paused: "asked" });
  }

  const { next: dueMs = 0, last } = marks;
  const lateMs = nowMs - scheduleLimits.lateMsMax;
  const others = blobs.flatMap((one) => parseScheduledRun(one.name) ?? []);
  const isBusy = others.some((run) => run.schedule === name && run.ms !== dueMs);
  const skip = dueMs < lateMs ? "missed" : schedule.overlap === "skip" && isBusy ? "overlap" : undefined;
  const outcome = await submitDue(term, schedule, { dueMs, last, at, etag: blob.etag, skip });
  if (outcome === "later") return undefined;
  // What was missed is skipped in one step.
  const next = dueTimes(schedule).nextAfter(outcome === "missed" ? lateMs - 1 : dueMs);
  if (outcome === "submitted") {
    const of = { schedule: name, run: scheduledRunId(name, dueMs) };
    log(logEvents.scheduleSubmitted({ ...of, lateS: Math.max(0, (nowMs - dueMs) / 1_000) }));
    return await write({ next, last: dueMs });
  }
  const now = await write({ next, skipped: dueMs });
  const due = new Date(dueMs).toISOString();
  if (now !== undefined) log(logEvents.scheduleSkipped({ schedule: name, due, why: outcome }));
  return now;
}
