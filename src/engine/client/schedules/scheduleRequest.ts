import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { Calculations } from "../../calculation/contract.ts";
import { type DueTimes, dueTimes, dueWithin, fillTemplates, hasTemplate } from "../../model/dueTimes.ts";
import { isRecord } from "../../model/json.ts";
import { scheduleNamePattern } from "../../model/names.ts";
import { overlaps, type Schedule, scheduleLimits, takes, withNumbers } from "../../model/schedule.ts";
import { checkRequest, checkWhole, invalid, type RunRequest, requestSchema } from "../runRequest.ts";

/** What a person or program asks for, before any check of its values. */
export const scheduleRequestSchema = z.strictObject({
  name: z.string(),
  /** Five fields: minute, hour, day, month, weekday. */
  cron: z.string(),
  /** An IANA name; UTC by default. */
  timeZone: z.string().optional(),
  overlap: z.enum(overlaps).optional(),
  /** How late a run may begin; an hour by default. */
  catchUpMs: z.number().optional(),
  take: z.enum(takes).optional(),
  /** The schedule's runs begin up to so many seconds later, always the same. */
  jitterS: z.number().optional(),
  /** As for a submit. Templates such as `{date}` in its parameters are filled with the due time. */
  run: requestSchema.omit({ id: true }).extend({
    reuse: z
      .literal(true)
      .describe("Each run reuses partials of the run before it; no parameter can have a template then.")
      .optional(),
  }),
  /** Changes a schedule that is there. */
  replace: z.boolean().optional(),
});
export type ScheduleRequest = z.infer<typeof scheduleRequestSchema>;

/** Times for which parameters are checked, and that are shown. */
export const upcomingShown = 10;

export interface CheckedSchedule {
  readonly schedule: Schedule;
  readonly times: DueTimes;
}

/**
 * Validates a schedule and the parameters of its next runs. Throws `InputError` naming the field.
 *
 * A leader fills the templates and knows no calculation, so they are found again in the parsed parameters: a value with a template
 * must be one that the calculation takes as it is.
 */
export function checkSchedule(
  { name, run, cron, timeZone = "UTC", overlap = "skip", take = "latest", ...request }: ScheduleRequest,
  calculations: Calculations,
  nowMs: number,
): CheckedSchedule {
  checkScheduleName(name);
  const times = dueTimes({ cron, timeZone });
  const catchUpMs = checkCatchUp(request.catchUpMs, times, nowMs);
  const jitterS =
    request.jitterS === 0 ? 0 : (checkWhole("jitterS", request.jitterS, scheduleLimits.jitterSMax) ?? 0);
  const upcoming = dueWithin(times, nowMs, Infinity, upcomingShown);
  const [first] = upcoming;
  if (first === undefined) throw invalid("cron", `${JSON.stringify(cron)} is never due`);

  const asGiven = run.params ?? {};
  const numbers = numbersIn(run, calculations);
  const filledAt = (value: unknown, dueMs: number) =>
    withNumbers(fillTemplates(value, dueMs, timeZone), numbers);
  const parsedAt = (dueMs: number) => {
    const params = filledAt(asGiven, dueMs) as typeof asGiven;
    const noNumber = numbers.find((one) => typeof params[one] === "string");
    if (noNumber !== undefined)
      throw invalid(
        noNumber,
        `${asGiven[noNumber]} becomes ${params[noNumber]}, and this parameter is a number`,
        "bad-template",
      );
    return checkRequest({ ...run, params, tags: fillTemplates(run.tags, dueMs, timeZone) }, calculations);
  };
  const checked = parsedAt(first);
  const params = withTemplates(checked.params, asGiven, filledAt(asGiven, first));
  for (const dueMs of upcoming) checkFilled(filledAt(params, dueMs), parsedAt(dueMs).params);
  const { calculation, code, workers, packSize, tolerate, packLimitMs, attempts, deadline, cap } = checked;
  const { retryAfterS } = checked;
  if (run.reuse && !isDeepStrictEqual(filledAt(asGiven, first), asGiven))
    throw invalid("reuse", "parameters with templates are others each time, and nothing can be reused");
  const given = isDeepStrictEqual(params, asGiven) ? undefined : asGiven;
  const limits = { workers, packSize, tolerate, packLimitMs, attempts, retryAfterS, deadline, cap };
  // Those of the first run fit, and only strings do.
  const tags = run.tags as Readonly<Record<string, string>> | undefined;
  const more = { tags, ...(numbers.length === 0 ? {} : { numbers }), reuse: run.reuse };
  const kept = { calculation: calculation.name, params, given, code, ...more, ...limits };
  return { schedule: { name, cron, timeZone, overlap, catchUpMs, take, jitterS, request: kept }, times };
}

/** Returns the name, or throws `InputError` naming the rule. */
export function checkScheduleName(name: string): string {
  if (scheduleNamePattern.test(name)) return name;
  const rule = 'use 1 to 40 letters, digits, "-" or "_", beginning with a letter or digit';
  throw invalid("name", `${JSON.stringify(name.slice(0, 80))} is no name of a schedule; ${rule}`);
}

function checkCatchUp(
  asked: number = scheduleLimits.catchUpMsDefault,
  times: DueTimes,
  nowMs: number,
): number {
  const { catchUpMsMin, catchUpMsMax, windowTimesMax } = scheduleLimits;
  const catchUpMs = checkWhole("catchUpMs", asked, catchUpMsMax) ?? asked;
  if (catchUpMs < catchUpMsMin) throw invalid("catchUpMs", `${catchUpMs}: must be at least ${catchUpMsMin}`);
  const due = dueWithin(times, nowMs, nowMs + catchUpMs, windowTimesMax + 1).length;
  if (due <= windowTimesMax) return catchUpMs;
  throw invalid("catchUpMs", `${catchUpMs}: at most ${windowTimesMax} due times may be within it`);
}

/** Parameters that are a number, and whose value here has a template. */
function numbersIn(
  { calculation, params = {} }: Pick<RunRequest, "calculation" | "params">,
  known: Calculations,
) {
  const described = known.list().find(({ name }) => name === calculation);
  if (described === undefined) return [];
  const rows = known.describeParams(described).filter(({ type }) => /^(number|integer)$/.test(type));
  return rows.map(({ name }) => name).filter((name) => hasTemplate(params[name]));
}

/** The parsed value, with the templates of the given one wherever it took a filled string as it was. */
function withTemplates(parsed: unknown, given: unknown, filled: unknown): unknown {
  if (parsed === filled) return given;
  if (Array.isArray(parsed) && Array.isArray(given) && Array.isArray(filled))
    return parsed.map((one, at) => withTemplates(one, given[at], filled[at]));
  if (!isRecord(parsed) || !isRecord(given) || !isRecord(filled)) return parsed;
  const entries = Object.entries(parsed);
  return Object.fromEntries(entries.map(([key, one]) => [key, withTemplates(one, given[key], filled[key])]));
}

function checkFilled(filled: unknown, parsed: unknown): void {
  if (isDeepStrictEqual(filled, parsed)) return;
  const differs = Object.keys(Object(parsed)).find(
    (key) => !isDeepStrictEqual(Object(filled)[key], Object(parsed)[key]),
  );
  const rule = "the calculation changes this value, so it can have no template such as {date}";
  throw invalid(differs ?? "params", rule, "bad-template");
}
