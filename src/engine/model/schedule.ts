import * as z from "zod";
import { countText, decodeJson, decodeValue, dollarAmount, positive, versioned } from "./decode.ts";
import { dueTimes, fillTemplates } from "./dueTimes.ts";
import { CorruptDataError } from "./errors.ts";
import { limits } from "./limits.ts";
import { scheduleBlob, scheduleBlobs, scheduleNamePattern } from "./names.ts";
import { specSchema } from "./run.ts";
import { versions, withVersion } from "./versions.ts";

/**
 * `_schedules/{name}` among the markers: what is to be run when, as JSON, and in its metadata which due time is the next. So the
 * list that a tick reads anyway tells whether one is due, and one conditional write moves it on.
 */

/** What becomes of a due time while another run of the schedule is active. */
export const overlaps = ["skip", "allow"] as const;

export const scheduleLimits = {
  /** All of them stay on the first page of the list of markers, which has 5,000. */
  schedulesMax: 500,
  /** A due time that is longer past is skipped. */
  lateMsMax: 3_600_000,
  cronCharactersMax: 200,
  timeZoneCharactersMax: 100,
} as const;

const isDueOnce = (rule: Parameters<typeof dueTimes>[0]): boolean => {
  try {
    return dueTimes(rule).nextAfter(0) !== undefined;
  } catch {
    return false;
  }
};

/** The body: what a person asked for. Strings of `params`, `given` and `tags` may hold templates (`dueTimes.ts`). */
const scheduleSchema = z
  .object({
    ...{ v: z.literal(versions.schedule), name: z.string().regex(scheduleNamePattern) },
    /** Five fields, and an IANA name. */
    ...{
      cron: z.string().max(scheduleLimits.cronCharactersMax),
      timeZone: z.string().max(scheduleLimits.timeZoneCharactersMax),
    },
    overlap: z.enum(overlaps),
    request: specSchema
      .pick({
        ...{ calculation: true, params: true, given: true, code: true, packSize: true, tolerate: true },
        ...{
          workers: true,
          priority: true,
          packLimitMs: true,
          attempts: true,
          retryAfterS: true,
          deadline: true,
        },
      })
      .extend({
        cap: positive,
        maxCost: dollarAmount.optional(),
        tags: z.record(z.string(), z.string()).optional(),
        /** Each run reuses partials of the run before. */
        reuse: z.literal(true).optional(),
      }),
  })
  .refine(isDueOnce, "is never due");
versioned("schedule", scheduleSchema, limits.requestBytesMax);
export type Schedule = Omit<z.infer<typeof scheduleSchema>, "v">;

export const encodeSchedule = (schedule: Schedule): string =>
  JSON.stringify({ v: versions.schedule, ...schedule });

/** Throws `OtherVersionError`, or `CorruptDataError` also for the schedule of another name. */
export function decodeSchedule(body: Uint8Array, blob: string): Schedule {
  const { v: _version, ...schedule } = decodeJson(scheduleSchema, body, blob);
  if (scheduleBlob(schedule.name) === blob) return schedule;
  throw new CorruptDataError("other-name", `${blob} holds a schedule of another name`);
}

/** Whether a document that is written can be read again; else the reason. */
export function unstorable(schedule: Schedule): string | undefined {
  try {
    decodeSchedule(Buffer.from(encodeSchedule(schedule)), scheduleBlob(schedule.name));
    return undefined;
  } catch (error) {
    if (error instanceof CorruptDataError) return error.message;
    throw error;
  }
}

/** What is asked for at a due time. */
export function requestAt({ request, timeZone }: Pick<Schedule, "request" | "timeZone">, dueMs: number) {
  const { params, given, tags, ...rest } = request;
  return { ...rest, ...fillTemplates({ params, given, tags }, dueMs, timeZone) };
}

/** Throws `CorruptDataError` for a name that no schedule can have: whoever may write markers chooses it. */
export function checkScheduleBlob(blob: string): void {
  if (scheduleNamePattern.test(blob.slice(scheduleBlobs.length))) return;
  throw new CorruptDataError("stray-schedule", "its name is no schedule's");
}

const marksSchema = z.object({
  v: z.literal(versions.schedule),
  /** The first due time that is not decided, in ms of storage's time; absent if there is none. */
  next: countText.optional(),
  /** Nothing is submitted. `deleted`: a leader is to remove it. */
  paused: z.enum(["asked", "deleted"]).optional(),
  /** The latest due times with and without a run. */
  last: countText.optional(),
  skipped: countText.optional(),
});
versioned("schedule", marksSchema);
export type Marks = Omit<z.infer<typeof marksSchema>, "v">;

export const encodeMarks = (marks: Marks): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ v: versions.schedule, ...marks }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)]],
    ),
  );

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata that are not a schedule's. */
export function decodeMarks(metadata: Readonly<Record<string, string>>, what: string): Marks {
  const { v: _version, ...marks } = decodeValue(
    marksSchema,
    withVersion(metadata),
    `the metadata of ${what}`,
  );
  return marks;
}
