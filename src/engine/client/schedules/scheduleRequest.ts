import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { Calculations } from "../../calculation/contract.ts";
import { dueTimes, fillTemplates } from "../../model/dueTimes.ts";
import { InputError } from "../../model/errors.ts";
import { scheduleNamePattern } from "../../model/names.ts";
import { overlaps, type Schedule, scheduleLimits, unstorable } from "../../model/schedule.ts";
import { checkRequest, invalid, requestSchema } from "../runRequest.ts";

/** What a person or program asks for, before any check of its values. */
export const scheduleRequestSchema = z.strictObject({
  name: z.string(),
  /** Five fields: minute, hour, day, month, weekday. */
  cron: z.string(),
  /** An IANA name; UTC by default. */
  timeZone: z.string().optional(),
  overlap: z.enum(overlaps).optional(),
  /** As for a submit. Templates such as `{date}` in its parameters are filled with the due time. */
  run: requestSchema.omit({ id: true, acceptCode: true, keepPartials: true }).extend({
    reuse: z.literal(true).describe("Each run reuses partials of the run before it.").optional(),
  }),
});
export type ScheduleRequest = z.infer<typeof scheduleRequestSchema>;

/**
 * Validates a schedule and the parameters of its first run, that of `firstMs`. Throws `InputError` naming the field.
 *
 * A leader fills the templates and knows no calculation: so a parameter with a template must be one that the calculation takes
 * as it is.
 */
export function checkSchedule(
  { name, run, cron, timeZone = "UTC", overlap = "skip" }: ScheduleRequest,
  calculations: Calculations,
  nowMs: number,
): { readonly schedule: Schedule; readonly firstMs: number } {
  checkScheduleName(name);
  checkLength("cron", cron, scheduleLimits.cronCharactersMax);
  checkLength("timeZone", timeZone, scheduleLimits.timeZoneCharactersMax);
  const firstMs = dueTimes({ cron, timeZone }).nextAfter(nowMs);
  if (firstMs === undefined) throw invalid("cron", `${JSON.stringify(cron)} is never due`);
  const { params: given = {}, tags, reuse } = run;
  const filled = fillTemplates({ params: given, tags }, firstMs, timeZone);
  const checked = checkRequest({ ...run, ...filled, reuse: undefined }, calculations);
  const entries = Object.entries(Object(checked.params)).map(([key, value]) => {
    if (isDeepStrictEqual(given[key], filled.params[key])) return [key, value];
    if (isDeepStrictEqual(value, filled.params[key])) return [key, given[key]];
    throw invalid(key, "the calculation changes this value, so it can have no template", "bad-template");
  });
  if (reuse && !isDeepStrictEqual(filled.params, given))
    throw invalid("reuse", "parameters with templates are others each time, and nothing can be reused");
  const { id: _id, requestHash: _hash, acceptCode: _accept, ...limits } = checked;
  const calculation = checked.calculation.name;
  const request = { ...limits, calculation, params: Object.fromEntries(entries), given, tags, reuse };
  // What is undefined is not stored.
  const schedule: Schedule = JSON.parse(JSON.stringify({ name, cron, timeZone, overlap, request }));
  const why = unstorable(schedule);
  if (why !== undefined) throw new InputError("invalid", "bad-schedule", why);
  return { schedule, firstMs };
}

function checkLength(field: "cron" | "timeZone", { length }: string, max: number): void {
  if (length > max) throw invalid(field, `has ${length} characters; at most ${max} are allowed`);
}

/** Returns the name, or throws `InputError` naming the rule. */
export function checkScheduleName(name: string): string {
  if (scheduleNamePattern.test(name)) return name;
  const rule = 'use 1 to 40 letters, digits, "-" or "_", beginning with a letter or digit';
  throw invalid("name", `${JSON.stringify(name.slice(0, 80))} is no name of a schedule; ${rule}`);
}
