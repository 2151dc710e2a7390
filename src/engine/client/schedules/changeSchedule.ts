import * as z from "zod";
import { canonicalJson } from "../../model/decode.ts";
import { dueTimes } from "../../model/dueTimes.ts";
import { InputError, StorageError } from "../../model/errors.ts";
import { scheduleBlob, scheduleBlobs } from "../../model/names.ts";
import {
  delayMsOf,
  encodeMarks,
  encodeSchedule,
  type Marks,
  scheduleLimits,
  waitsFor,
} from "../../model/schedule.ts";
import { type Client, clientLimits } from "../client.ts";
import { ensuringContainers } from "../containersAndQueues.ts";
import { sendWakes } from "../submit.ts";
import { checkSchedule, checkScheduleName, type ScheduleRequest } from "./scheduleRequest.ts";
import { readSchedule, readStored, type StoredSchedule, unknownSchedule } from "./schedules.ts";

/** What a person changes of a schedule. Each is one conditional write, which the leaders' own follow. */

export const addedScheduleSchema = z.object({
  name: z.string(),
  outcome: z.enum(["created", "replaced", "unchanged"]),
});
export type AddedSchedule = z.infer<typeof addedScheduleSchema>;

export const pausedScheduleSchema = z.object({ name: z.string(), paused: z.boolean(), changed: z.boolean() });
export type PausedSchedule = z.infer<typeof pausedScheduleSchema>;

/**
 * Makes a schedule, which is due from now on. The same again changes nothing. Throws `InputError`: `invalid` for bad input,
 * `conflict` `schedule-exists` where another has the name and `replace` is not set, and `too-many-schedules`.
 */
export async function addSchedule(client: Client, request: ScheduleRequest): Promise<AddedSchedule> {
  const { name } = request;
  const listed = await ensuringContainers(client, () =>
    client.storage.blobs.list(client.names.active, scheduleBlobs),
  );
  const nowMs = listed.dateMs;
  const { schedule: asked, times } = checkSchedule(request, client.calculations, nowMs);
  const blob = scheduleBlob(name);
  const at = [client.names.active, blob] as const;
  const body = encodeSchedule(asked);
  const waits = waitsFor(asked);
  const nextOf = (cursor: number) => {
    const next = times.nextAfter(cursor);
    return next === undefined ? undefined : next + delayMsOf(asked);
  };
  if (listed.blobs.length >= scheduleLimits.schedulesMax && !listed.blobs.some((one) => one.name === blob))
    throw conflict("too-many-schedules", `there are ${scheduleLimits.schedulesMax} schedules, the most`);
  const first: Marks = { cursor: nowMs, next: nextOf(nowMs), pending: [], waits, recent: [] };
  const write = { contentType: "application/json" };
  const { blobs } = client.storage;
  const done = (outcome: AddedSchedule["outcome"]) => ({ name, outcome });
  return await retrying(client, name, async () => {
    const before = await readStored(client, name);
    const fresh = { ...write, metadata: encodeMarks(first) };
    if (before === undefined)
      return (await blobs.create(...at, body, fresh)).kind === "created" ? done("created") : undefined;
    if (before.marks.paused === "deleted") {
      const over = await blobs.replace(...at, body, { ...fresh, ifMatch: before.etag });
      return over.kind === "replaced" ? done("created") : undefined;
    }
    if (canonicalJson(before.schedule ?? {}) === canonicalJson(asked)) return done("unchanged");
    if (request.replace !== true) throw conflict("schedule-exists", `there is another schedule ${name}`);
    const { paused, cursor } = before.marks;
    const { schedule } = before;
    const sameTimes = schedule?.cron === asked.cron && schedule.timeZone === asked.timeZone;
    const from = sameTimes ? cursor : before.nowMs;
    const next = paused === "asked" ? undefined : nextOf(from);
    const marks: Marks = { ...before.marks, cursor: from, next, waits, paused: paused && "asked" };
    const now = paused === "unreadable" ? { ...marks, paused: undefined } : marks;
    const metadata = encodeMarks(now);
    const reply = await blobs.replace(...at, body, { ...write, metadata, ifMatch: before.etag });
    return reply.kind === "replaced" ? done("replaced") : undefined;
  });
}

const conflict = (code: string, message: string): InputError => new InputError("conflict", code, message);

/** Tries until a conditional write of the blob is the first. */
async function retrying<T>(client: Client, name: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tried = 0; tried < clientLimits.markerTries; tried += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
    await client.clock.sleep(client.random.number() * clientLimits.markerRetryMs);
  }
  throw new StorageError("busy", "", undefined, `too many writes of schedule ${name} at once; try again`);
}

/** A conditional write of the marks; none if they are the very same. Throws `InputError` `unknown-schedule`. */
export async function changeMarks<T>(
  client: Client,
  name: string,
  change: (stored: StoredSchedule) => { readonly marks: Marks; readonly answer: T },
): Promise<T> {
  const { answer } = await retrying(client, name, async () => {
    const stored = await readSchedule(client, name);
    const changed = change(stored);
    if (changed.marks === stored.marks) return changed;
    const { blobs } = client.storage;
    const at = [client.names.active, scheduleBlob(name)] as const;
    const reply = await blobs.setMetadata(...at, encodeMarks(changed.marks), { ifMatch: stored.etag });
    return reply.kind === "replaced" ? changed : undefined;
  });
  return answer;
}

/**
 * Pauses or resumes. What is due during a pause is not run; `backfill` runs it. What waits meanwhile waits for the end of the
 * pause. Throws `InputError` `unknown-schedule`.
 */
export const pauseSchedule = (client: Client, name: string, pause: boolean) =>
  changeMarks(client, name, ({ schedule: one, marks, nowMs }) => {
    const answer = { name, paused: pause, changed: pause !== (marks.paused !== undefined) };
    if (!answer.changed) return { marks, answer };
    if (pause) return { marks: { ...marks, paused: "asked", next: undefined }, answer };
    const next = dueTimes(one).nextAfter(nowMs);
    const from = { cursor: nowMs, next: next === undefined ? undefined : next + delayMsOf(one) };
    return { marks: { ...marks, paused: undefined, ...from }, answer };
  });

/** Asks a leader to remove the schedule; its runs stay. Throws `InputError` `unknown-schedule`. */
export async function deleteSchedule(client: Client, name: string) {
  const at = [client.names.active, scheduleBlob(checkScheduleName(name))] as const;
  await retrying(client, name, async () => {
    const stored = await readStored(client, name);
    if (stored === undefined || stored.marks.paused === "deleted") throw unknownSchedule(name);
    const metadata = encodeMarks({ ...stored.marks, paused: "deleted", next: undefined });
    const reply = await client.storage.blobs.setMetadata(...at, metadata, { ifMatch: stored.etag });
    return reply.kind === "replaced" ? reply : undefined;
  });
  await sendWakes(client, "schedule");
  return { name };
}
