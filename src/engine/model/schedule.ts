import { hash } from "node:crypto";
import * as z from "zod";
import { decodeJson, decodeValue, versioned } from "./decode.ts";
import { fillTemplates } from "./dueTimes.ts";
import { isRecord } from "./json.ts";
import { scheduleNamePattern } from "./names.ts";
import { specSchema } from "./run.ts";
import { versions, withVersion } from "./versions.ts";

/**
 * `_schedules/{name}` among the markers: what is to be run when, as JSON, and in its metadata which due times are decided. So the
 * list that a tick reads anyway tells whether one is due, and one conditional write moves it on.
 */

/** What becomes of a due time while an earlier run of the schedule is active. */
export const overlaps = ["skip", "queue", "cancel", "allow"] as const;
/** Which of several due times that were missed within the window are run. */
export const takes = ["latest", "all"] as const;

export const scheduleLimits = {
  /** All of them stay on the first page of the list of markers, which has 5,000. */
  schedulesMax: 500,
  /** Before it a due time is run late, after it never. A leader may be a minute away. */
  catchUpMsMin: 300_000,
  catchUpMsDefault: 3_600_000,
  catchUpMsMax: 31 * 86_400_000,
  /** Due times within the window: reckoning one takes 0.05 ms (measured), and a leader has 0.9 s for a beat. */
  windowTimesMax: 1_500,
  jitterSMax: 3_600,
  /** Due times that wait to be submitted, and those of one decision that are taken. */
  pendingMax: 100,
  /** Due times of which the outcome is told: metadata have 8 KB. */
  recentMax: 20,
  /** Missed due times that are counted. */
  missedMax: 1_000,
  /** Schedules that one loop of a leader serves; the next loop follows at once. */
  perLoop: 64,
} as const;

/** The body: what a person asked for. Strings of `params` and `given` may hold templates (`dueTimes.ts`). */
const scheduleSchema = z.object({
  v: z.literal(versions.schedule),
  name: z.string().regex(scheduleNamePattern),
  /** Five fields. */
  cron: z.string().max(200),
  /** An IANA name. */
  timeZone: z.string().max(100),
  overlap: z.enum(overlaps),
  catchUpMs: z.int().positive(),
  take: z.enum(takes),
  jitterS: z.int().nonnegative(),
  request: specSchema
    .pick({
      ...{
        calculation: true,
        params: true,
        given: true,
        code: true,
        packSize: true,
        tolerate: true,
        workers: true,
      },
      ...{ packLimitMs: true, attempts: true, retryAfterS: true, deadline: true },
    })
    .extend({
      cap: z.int().positive(),
      /** Values may hold templates. */
      tags: z.record(z.string(), z.string()).optional(),
      /** Parameters whose filled text is a number. */
      numbers: z.array(z.string()).optional(),
      /** Each run reuses partials of the run before. */
      reuse: z.literal(true).optional(),
    }),
});
versioned("schedule", scheduleSchema);
export type Schedule = Omit<z.infer<typeof scheduleSchema>, "v">;

export const encodeSchedule = (schedule: Schedule): string =>
  JSON.stringify({ v: versions.schedule, ...schedule });

export function decodeSchedule(body: Uint8Array, what: string): Schedule {
  const { v: _version, ...schedule } = decodeJson(scheduleSchema, body, what);
  return schedule;
}

/** What is asked for at a due time. */
export function requestAt({ request, timeZone }: Pick<Schedule, "request" | "timeZone">, dueMs: number) {
  const { numbers = [], params, given, tags, ...rest } = request;
  const filled = fillTemplates({ params, given, tags }, dueMs, timeZone);
  const typed = { params: withNumbers(filled.params, numbers), given: withNumbers(filled.given, numbers) };
  return { ...rest, ...filled, ...typed };
}

/** Numbers in the place of these texts; what is none stays. */
export function withNumbers<T>(params: T, names: readonly string[]): T {
  if (!isRecord(params)) return params;
  const numbers = names.flatMap((name) => {
    const text = params[name];
    return typeof text === "string" && Number.isFinite(Number(text)) ? [[name, Number(text)] as const] : [];
  });
  return { ...params, ...Object.fromEntries(numbers) };
}

/** A schedule's runs begin so much later than they are due: always the same, and spread over schedules. */
export const delayMsOf = ({ name, jitterS }: Pick<Schedule, "name" | "jitterS">): number =>
  (Number.parseInt(hash("sha256", name).slice(0, 8), 16) % (jitterS + 1)) * 1_000;

/** Due times are whole minutes, and the times at which a person triggers a schedule are not. */
export const isTriggered = (ms: number): boolean => ms % 60_000 !== 0;

/** Whether a run of it waits for the end of the one before. */
export const waitsFor = ({ overlap }: Pick<Schedule, "overlap">): boolean =>
  overlap === "skip" || overlap === "queue";

/** `overlap`: an earlier run was active. `missed`: nobody led in time, or a later one was taken. `id-taken`: by another run. */
export const outcomes = { r: "submitted", o: "overlap", m: "missed", t: "id-taken" } as const;
type Letter = keyof typeof outcomes;
export interface Decided {
  readonly dueMs: number;
  readonly outcome: (typeof outcomes)[Letter];
  /** Due times from this one on that have the same; 1 if absent. */
  readonly count?: number;
}

const pauses = ["asked", "unreadable", "deleted"] as const;

/** Which due times are decided. */
export interface Marks {
  /** Due times up to here are decided, in ms of storage's time. */
  readonly cursor: number;
  /** When the next one is to be decided, the delay included; absent where it is paused or there is none. */
  readonly next?: number | undefined;
  /** Due times, and times of a person's, that are to be submitted or perhaps were. */
  readonly pending: readonly number[];
  /** As `waitsFor`. */
  readonly waits: boolean;
  /** No due time is decided. `unreadable`: by a leader that could not read the body. `deleted`: a leader is to remove it. */
  readonly paused?: (typeof pauses)[number] | undefined;
  /** The latest outcomes, newest last. */
  readonly recent: readonly Decided[];
}

const time = z.coerce.number().int().nonnegative();
const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess((text) => (text === "" || text === undefined ? [] : String(text).split(",")), z.array(item));

const marksSchema = z.object({
  v: z.literal(versions.schedule),
  cursor: time,
  next: time.optional(),
  pending: listOf(time),
  waits: z.literal("1").optional(),
  paused: z.enum(pauses).optional(),
  recent: listOf(z.string().regex(/^\d+[romt]\d*$/)),
});
versioned("schedule", marksSchema);

export function encodeMarks({ cursor, next, pending, waits, paused, recent }: Marks): Record<string, string> {
  const letters = Object.entries(outcomes).map(([letter, outcome]) => [outcome, letter]);
  const letterOf = new Map(letters as [Decided["outcome"], Letter][]);
  const texts = recent.map(({ dueMs, outcome, count }) => `${dueMs}${letterOf.get(outcome)}${count ?? ""}`);
  return {
    v: String(versions.schedule),
    cursor: String(cursor),
    ...(next === undefined ? {} : { next: String(next) }),
    ...(pending.length === 0 ? {} : { pending: pending.join(",") }),
    ...(waits ? { waits: "1" } : {}),
    ...(paused === undefined ? {} : { paused }),
    ...(texts.length === 0 ? {} : { recent: texts.join(",") }),
  };
}

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata that are not a schedule's. */
export function decodeMarks(metadata: Readonly<Record<string, string>>, what: string): Marks {
  const {
    v: _version,
    waits,
    recent,
    ...marks
  } = decodeValue(marksSchema, withVersion(metadata), `the metadata of ${what}`);
  return { ...marks, waits: waits === "1", recent: recent.map(decidedOf) };
}

function decidedOf(text: string): Decided {
  const [, dueMs, letter, count] = /^(\d+)([romt])(\d*)$/.exec(text) ?? [];
  const outcome = outcomes[letter as Letter];
  return { dueMs: Number(dueMs), outcome, ...(count ? { count: Number(count) } : {}) };
}
