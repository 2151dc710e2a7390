import pMap from "p-map";
import * as z from "zod";
import { canonicalJson, unlessCorrupt, unlessUnreadable } from "../../model/decode.ts";
import { dueTimes } from "../../model/dueTimes.ts";
import { InputError, isUnreadable, StorageError } from "../../model/errors.ts";
import { plainId, scheduleBlob, scheduleBlobs, scheduledRunId } from "../../model/names.ts";
import * as model from "../../model/schedule.ts";
import { requestHashOf } from "../../model/storedSpec.ts";
import { type Client, clientLimits, defined, iso } from "../client.ts";
import { blobPage, ensuringContainers } from "../containersAndQueues.ts";
import { findReuse } from "../findReuse.ts";
import { readBlob, readSpec, readState } from "../runDocuments.ts";
import { invalid } from "../runRequest.ts";
import { type Submitted, sendWakes, submitChecked } from "../submit.ts";
import { text, time } from "../viewSchemas.ts";
import { checkSchedule, checkScheduleName, type ScheduleRequest } from "./scheduleRequest.ts";

/**
 * Schedules: what is submitted when, by whoever leads.
 *
 * Not promised: that a run begins at its due time. A leader submits it within a tick of the timer, or not at all after an hour.
 */

const viewSchema = z.object({
  ...{ name: text, cron: text, timeZone: text, overlap: z.enum(model.overlaps) },
  run: z
    .looseObject({ calculation: text, params: z.unknown(), tags: z.record(text, text).exactOptional() })
    .describe("As for a submit; templates are not filled."),
  paused: z.literal(true).exactOptional(),
  next: time.describe("Absent where it is paused.").exactOptional(),
  last: z
    .object({ due: time, run: text, phase: text.describe("Absent of a deleted run.").exactOptional() })
    .describe("The latest due time with a run.")
    .exactOptional(),
  skipped: time.describe("The latest due time without a run; the log says why.").exactOptional(),
});
export type ScheduleView = z.infer<typeof viewSchema>;
export const schedulesSchema = z.object({
  schedules: z.array(viewSchema),
  unreadable: z
    .array(z.object({ blob: text, reason: text }))
    .describe(
      "Blobs among the schedules that do not decode; what is no letter or digit of a name is escaped.",
    ),
});
type Schedules = z.infer<typeof schedulesSchema>;

export const addedScheduleSchema = z.object({
  ...{ name: text, created: z.boolean().describe("False if it was there already.") },
  first: z.object({ due: time, run: text, params: z.unknown() }).describe("The first run from now on."),
});
export type AddedSchedule = z.infer<typeof addedScheduleSchema>;

export const pausedScheduleSchema = z.object({ name: text, paused: z.boolean(), changed: z.boolean() });
export type PausedSchedule = z.infer<typeof pausedScheduleSchema>;

interface Stored {
  readonly schedule: model.Schedule;
  readonly marks: model.Marks;
  readonly etag: string;
  /** Storage's time of the read. */
  readonly nowMs: number;
}

/** `schedule` or `marks` is undefined where it does not decode. */
async function read(client: Client, name: string) {
  const blob = scheduleBlob(name);
  const found = await readBlob(client, client.names.active, blob);
  if (found.kind === "missing") return undefined;
  const { metadata, etag } = found.properties;
  const schedule = await unlessCorrupt(() => model.decodeSchedule(found.body, blob));
  const marks = await unlessCorrupt(() => model.decodeMarks(metadata, blob));
  return { schedule, marks, etag, nowMs: found.dateMs };
}
type Found = Awaited<ReturnType<typeof read>>;

const isThere = (found: Found): found is Stored =>
  found?.schedule !== undefined && found.marks !== undefined && found.marks.paused !== "deleted";

/** Throws `InputError` `unknown-schedule`, also for one that a leader is to remove or that does not decode. */
function known(name: string, found: Found): Stored {
  if (isThere(found)) return found;
  const message = `there is no schedule ${JSON.stringify(name)}`;
  throw new InputError("unknown", "unknown-schedule", message, { field: "name" });
}

interface Change {
  readonly marks: model.Marks;
  readonly body?: string;
}

/** One conditional write, decided anew where another was first, as the leaders' own are. False for none. */
async function change(client: Client, name: string, decide: (found: Found) => Change | undefined) {
  const at = [client.names.active, scheduleBlob(checkScheduleName(name))] as const;
  const { blobs } = client.storage;
  for (let tried = 0; tried < clientLimits.markerTries; tried += 1) {
    const found = await read(client, name);
    const next = decide(found);
    if (next === undefined) return false;
    const { body, marks } = next;
    const metadata = model.encodeMarks(marks);
    const how = { contentType: "application/json", metadata, ifMatch: found?.etag ?? "" };
    const write = () => {
      if (body === undefined) return blobs.setMetadata(...at, metadata, how);
      return found === undefined ? blobs.create(...at, body, how) : blobs.replace(...at, body, how);
    };
    const { kind } = await write();
    if (kind === "created" || kind === "replaced") return true;
    await client.clock.sleep(client.random.number() * clientLimits.markerRetryMs);
  }
  throw new StorageError("busy", "", undefined, `too many writes of schedule ${name} at once; try again`);
}

const conflict = (code: string, message: string): InputError => new InputError("conflict", code, message);

/**
 * Makes a schedule, which is due from now on. The same again changes nothing. Throws `InputError`: `invalid` for bad input,
 * `conflict` `schedule-exists` where another has the name, and `too-many-schedules`.
 */
export async function addSchedule(client: Client, request: ScheduleRequest): Promise<AddedSchedule> {
  const { name } = request;
  const list = () => client.storage.blobs.list(client.names.active, scheduleBlobs);
  const { blobs, dateMs } = await ensuringContainers(client, list);
  const { schedule, firstMs } = checkSchedule(request, client.calculations, dateMs);
  const most = model.scheduleLimits.schedulesMax;
  if (blobs.length >= most && !blobs.some((one) => one.name === scheduleBlob(name)))
    throw conflict("too-many-schedules", `there are ${most} schedules, the most`);
  const created = await change(client, name, (found) => {
    if (!isThere(found)) return { marks: { next: firstMs }, body: model.encodeSchedule(schedule) };
    if (canonicalJson(found.schedule) === canonicalJson(schedule)) return undefined;
    throw conflict("schedule-exists", `there is another schedule ${name}; delete it first`);
  });
  const { given: params } = model.requestAt(schedule, firstMs);
  return { name, created, first: { due: iso(firstMs), run: scheduledRunId(name, firstMs), params } };
}

/** Pauses or resumes. What is due during a pause is not run. Throws `InputError` `unknown-schedule`. */
export async function pauseSchedule(client: Client, name: string, pauses: boolean): Promise<PausedSchedule> {
  const changed = await change(client, name, (found) => {
    const { schedule, marks, nowMs } = known(name, found);
    if (pauses === (marks.paused !== undefined)) return undefined;
    if (pauses) return { marks: { ...marks, paused: "asked" } };
    return { marks: { ...marks, paused: undefined, next: dueTimes(schedule).nextAfter(nowMs) } };
  });
  return { name, paused: pauses, changed };
}

/** Asks a leader to remove the schedule; its runs stay. Throws `InputError` `unknown-schedule`. */
export async function deleteSchedule(client: Client, name: string): Promise<{ readonly name: string }> {
  await change(client, name, (found) => ({
    marks: { ...(found ?? known(name, found)).marks, paused: "deleted" },
  }));
  await sendWakes(client, "schedule");
  return { name };
}

/**
 * The run of a time that is past, now by default, also of a paused schedule; `at` has an offset. One that is there is left as it
 * is. Throws `InputError` as `submit`, `unknown-schedule` and `bad-at`.
 */
export async function triggerSchedule(client: Client, name: string, at?: string): Promise<Submitted> {
  const { schedule, marks, nowMs } = known(name, await read(client, checkScheduleName(name)));
  const atMs = at === undefined ? nowMs : Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$/.test(at) ? at : "");
  if (!(atMs <= nowMs))
    throw invalid("at", `${at} is no past time with an offset, such as 2026-11-23T02:00Z`);
  const { reuse, ...work } = model.requestAt(schedule, atMs);
  const of = { id: scheduledRunId(name, atMs), schedule: name, requestHash: requestHashOf(work) };
  const asked = { ...work, ...of, calculation: { name: work.calculation } };
  if (!reuse) return await submitChecked(client, asked);
  const again = { ...asked, keepPartials: true as const, reuse: scheduledRunId(name, marks.last ?? 0) };
  // The last run may have nothing to give.
  const has = await findReuse(client, again).catch((error: unknown) => {
    if (error instanceof InputError) return undefined;
    throw error;
  });
  return await submitChecked(client, has === undefined ? { ...again, reuse: undefined } : again);
}

/** All schedules by name, and the blobs among them that do not decode. One read for each, and two for its last run. */
export async function schedules(client: Client): Promise<Schedules> {
  const { blobs } = await blobPage(client, client.names.active, scheduleBlobs);
  const unreadable: Schedules["unreadable"][number][] = [];
  const view = async ({ name: blob }: (typeof blobs)[number]): Promise<ScheduleView | undefined> => {
    try {
      return await viewAt(client, blob);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.push({ blob: plainId(blob), reason: error.message });
      return undefined;
    }
  };
  const found = await pMap(blobs, view, { concurrency: clientLimits.readsAtOnce });
  return { schedules: found.filter((one) => one !== undefined), unreadable };
}

async function viewAt(client: Client, blob: string): Promise<ScheduleView | undefined> {
  model.checkScheduleBlob(blob);
  const found = await readBlob(client, client.names.active, blob);
  if (found.kind === "missing") return undefined;
  const { metadata, etag } = found.properties;
  const marks = model.decodeMarks(metadata, blob);
  if (marks.paused === "deleted") return undefined;
  const schedule = model.decodeSchedule(found.body, blob);
  return await viewOf(client, { schedule, marks, etag, nowMs: found.dateMs });
}

async function viewOf(client: Client, { schedule, marks }: Stored): Promise<ScheduleView> {
  const { request, ...rule } = schedule;
  const { params: _params, given, code: _code, ...run } = request;
  const { paused, next, last, skipped } = marks;
  const isoIf = (ms: number | undefined) => (ms === undefined ? undefined : iso(ms));
  const times = { next: paused === undefined ? isoIf(next) : undefined, skipped: isoIf(skipped) };
  const lastRun = last === undefined ? undefined : await lastRunOf(client, schedule, last);
  return {
    ...rule,
    run: { ...defined(run), params: given },
    ...defined({ paused: paused && (true as const), ...times, last: lastRun }),
  };
}

async function lastRunOf(client: Client, { name }: model.Schedule, dueMs: number) {
  const run = scheduledRunId(name, dueMs);
  const spec = (await unlessUnreadable(() => readSpec(client, run)))?.value;
  const state = spec && (await unlessUnreadable(() => readState(client, run, spec.uid)))?.value;
  return { due: iso(dueMs), run, ...defined({ phase: spec && (state?.phase ?? "waiting") }) };
}
