import pMap from "p-map";
import * as z from "zod";
import { unlessCorrupt, unlessUnreadable } from "../../model/decode.ts";
import { dueTimes, dueWithin, fillTemplates } from "../../model/dueTimes.ts";
import { CorruptDataError, InputError } from "../../model/errors.ts";
import { scheduleBlob, scheduleBlobs, scheduledRunId } from "../../model/names.ts";
import {
  decodeMarks,
  decodeSchedule,
  delayMsOf,
  type Marks,
  outcomes,
  overlaps,
  requestAt,
  type Schedule,
  takes,
} from "../../model/schedule.ts";
import { type Client, clientLimits, defined, iso } from "../client.ts";
import { blobPage } from "../containersAndQueues.ts";
import { readBlob, readSpec, readState } from "../runDocuments.ts";
import { checkScheduleName, upcomingShown } from "./scheduleRequest.ts";

/**
 * Schedules: what is submitted when, by whoever leads. `trigger` and `backfill` submit from here.
 *
 * Not promised: that a run begins at its due time. A leader submits it within a tick of the timer, or not at all after its window.
 */

export interface StoredSchedule {
  readonly schedule: Schedule;
  readonly marks: Marks;
  readonly etag: string;
  /** Storage's time of the read. */
  readonly nowMs: number;
}

/** Throws `InputError` `unknown-schedule`, also for one that a leader is to remove, and `CorruptDataError`. */
export async function readSchedule(client: Client, name: string): Promise<StoredSchedule> {
  const stored = await readStored(client, checkScheduleName(name));
  if (stored === undefined || stored.marks.paused === "deleted") throw unknownSchedule(name);
  const { schedule } = stored;
  if (schedule === undefined)
    throw new CorruptDataError("bad-schedule", `schedule ${name} does not decode; make it anew with replace`);
  return { ...stored, schedule };
}

/** `schedule` is undefined where it does not decode. */
export async function readStored(client: Client, name: string) {
  const blob = scheduleBlob(name);
  const found = await readBlob(client, client.names.active, blob);
  if (found.kind === "missing") return undefined;
  const { metadata, etag } = found.properties;
  const schedule = await unlessCorrupt(() => decodeSchedule(found.body, blob));
  return { schedule, marks: decodeMarks(metadata, blob), etag, nowMs: found.dateMs };
}

export const unknownSchedule = (name: string): InputError =>
  new InputError("unknown", "unknown-schedule", `there is no schedule ${JSON.stringify(name)}`, {
    field: "name",
  });

const time = z.iso.datetime();
const decidedSchema = z.object({
  due: time,
  outcome: z.enum(Object.values(outcomes)),
  /** Due times from this one on that have the same. */
  count: z.number().exactOptional(),
  run: z.string().exactOptional(),
});

const scheduleSchema = z.object({
  name: z.string(),
  cron: z.string(),
  timeZone: z.string(),
  overlap: z.enum(overlaps),
  catchUpMs: z.number(),
  take: z.enum(takes),
  jitterS: z.number(),
  /** As for a submit; templates are not filled. */
  run: z.looseObject({
    ...{ calculation: z.string(), params: z.unknown() },
    tags: z.record(z.string(), z.string()).exactOptional(),
    reuse: z.literal(true).exactOptional(),
  }),
  paused: z
    .enum(["asked", "unreadable", "deleted"])
    .describe("`unreadable`: no leader could read it, and nothing is due until it is replaced.")
    .exactOptional(),
  next: time.describe("Absent where it is paused.").exactOptional(),
  pending: z.array(time).describe("Times whose runs wait for the end of the one before."),
  recent: z.array(decidedSchema).describe("What became of the latest due times, newest last."),
  last: z
    .object({
      due: time,
      run: z.string(),
      phase: z.string().describe("Absent of a deleted run.").exactOptional(),
    })
    .describe("The latest run.")
    .exactOptional(),
});
export type ScheduleView = z.infer<typeof scheduleSchema>;
export const schedulesSchema = z.object({ schedules: z.array(scheduleSchema) });

export const scheduleDetailsSchema = scheduleSchema.extend({
  upcoming: z
    .array(
      z.object({
        due: time,
        at: z.string().describe("In its time zone."),
        run: z.string().describe("The id that the run will have."),
        params: z.unknown(),
      }),
    )
    .describe("The next ten due times, as if it were not paused."),
});
export type ScheduleDetails = z.infer<typeof scheduleDetailsSchema>;

const asGiven = ({ given, params }: Pick<Schedule["request"], "given" | "params">): unknown =>
  given ?? params;

async function viewOf(client: Client, { schedule, marks }: StoredSchedule): Promise<ScheduleView> {
  const { request, ...rest } = schedule;
  const { params, given, code: _code, numbers: _numbers, ...run } = request;
  const recent = marks.recent.map(({ dueMs, ...one }) => ({
    due: iso(dueMs),
    ...one,
    ...(one.outcome === "submitted" ? { run: scheduledRunId(schedule.name, dueMs) } : {}),
  }));
  const last = recent.findLast(({ outcome }) => outcome === "submitted");
  const lastRun = last?.run && {
    ...{ due: last.due, run: last.run },
    ...defined({ phase: await phaseOf(client, last.run) }),
  };
  return {
    ...rest,
    run: { ...defined(run), params: asGiven({ params, given }) },
    pending: marks.pending.map(iso),
    recent,
    ...defined({
      ...{ paused: marks.paused, next: marks.next === undefined ? undefined : iso(marks.next) },
      last: lastRun || undefined,
    }),
  };
}

/** Undefined for a run that was deleted. */
async function phaseOf(client: Client, run: string): Promise<string | undefined> {
  const spec = await unlessUnreadable(() => readSpec(client, run));
  if (spec === undefined) return undefined;
  return (await unlessUnreadable(() => readState(client, run, spec.value.uid)))?.value.phase ?? "waiting";
}

/** All schedules by name. One read for each, and two for its last run. */
export async function schedules(client: Client): Promise<readonly ScheduleView[]> {
  const { blobs } = await blobPage(client, client.names.active, scheduleBlobs);
  const found = await pMap(
    blobs,
    ({ name }) =>
      unlessUnreadable(() =>
        readSchedule(client, name.slice(scheduleBlobs.length)).then(
          (one) => viewOf(client, one),
          noneIfUnknown,
        ),
      ),
    { concurrency: clientLimits.readsAtOnce },
  );
  return found.filter((one) => one !== undefined);
}

function noneIfUnknown(error: unknown): undefined {
  if (!(error instanceof InputError)) throw error;
}

/** One schedule with its next ten due times. Throws `InputError` `unknown-schedule`. */
export async function schedule(client: Client, name: string): Promise<ScheduleDetails> {
  const stored = await readSchedule(client, name);
  const { schedule: one, nowMs } = stored;
  const upcoming = dueWithin(dueTimes(one), nowMs - delayMsOf(one), Infinity, upcomingShown);
  const local = (dueMs: number) => fillTemplates("{date} {hour}:{minute}", dueMs, one.timeZone);
  return {
    ...(await viewOf(client, stored)),
    /** `at`: in its time zone. `run`: the id that it will have. */
    upcoming: upcoming.map((dueMs) => ({
      ...{ due: iso(dueMs), at: local(dueMs), run: scheduledRunId(name, dueMs) },
      params: asGiven(requestAt(one, dueMs)),
    })),
  };
}
