import * as z from "zod";
import { dueTimes, dueWithin, fillTemplates } from "../../model/dueTimes.ts";
import { InputError } from "../../model/errors.ts";
import { scheduledRunId } from "../../model/names.ts";
import { isTriggered, scheduleLimits } from "../../model/schedule.ts";
import { type Client, iso } from "../client.ts";
import { invalid } from "../runRequest.ts";
import { sendWakes } from "../submit.ts";
import { changeMarks } from "./changeSchedule.ts";
import type { StoredSchedule } from "./schedules.ts";

/**
 * Runs of a schedule that a person asks for: they become pending, and whoever leads submits them as any other. They pay heed to
 * what is active as due times do, but none is skipped for it.
 */

export const pendedSchema = z.object({
  name: z.string(),
  runs: z.array(z.object({ due: z.iso.datetime(), run: z.string() })),
  woken: z
    .boolean()
    .describe("False if the wake queue could not be reached: a leader comes with the next tick."),
});
export type Pended = z.infer<typeof pendedSchema>;

/**
 * One run now, with the present time in its templates; a paused schedule has it too. Throws `InputError` `unknown-schedule` and
 * `too-many-pending`.
 */
export const triggerSchedule = (client: Client, name: string): Promise<Pended> =>
  pend(client, name, ({ nowMs }) => {
    const second = Math.floor(nowMs / 1_000) * 1_000;
    return [isTriggered(second) ? second : second + 1_000];
  });

/**
 * The runs of past due times, from and to which are included: days of its time zone (`2026-11-01`), or times with an offset. A
 * run that is there is left as it is. Throws `InputError` for bad times, for a schedule whose runs cancel each other, and for more
 * than a hundred that wait.
 */
export async function backfillSchedule(
  client: Client,
  name: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<Pended> {
  const [fromMs, toMs] = [boundOf("from", from), boundOf("to", to)];
  return pend(client, name, ({ schedule, marks, nowMs }) => {
    if (schedule.overlap === "cancel")
      throw new InputError("conflict", "not-allowed", `runs of ${name} cancel each other (overlap cancel)`);
    // What is due and not decided yet is run anyway.
    const decidedMs = marks.paused === undefined ? marks.cursor : nowMs;
    // A day begins up to 14 hours before that of UTC, and ends up to 12 hours after it.
    const lastMs = Math.min(toMs + 2 * dayMs, decidedMs);
    const all = dueWithin(dueTimes(schedule), fromMs - dayMs, lastMs, searchedMax);
    const dayOf = (dueMs: number) => fillTemplates("{date}", dueMs, schedule.timeZone);
    const due = all.filter(
      (dueMs) =>
        (isDay.test(from) ? dayOf(dueMs) >= from : dueMs >= fromMs) &&
        (isDay.test(to) ? dayOf(dueMs) <= to : dueMs <= toMs),
    );
    if (due.length === 0) throw invalid("from", `${name} was not due from ${from} to ${to}`);
    return due;
  });
}

const dayMs = 86_400_000;
/** Due times looked at, those of the days around included: a schedule may be due each minute. */
const searchedMax = 6_000;
const isDay = /^\d{4}-\d\d-\d\d$/;

function boundOf(field: "from" | "to", text: string): number {
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && (isDay.test(text) || /T.*(Z|[+-]\d\d:?\d\d)$/.test(text))) return ms;
  throw invalid(
    field,
    `${JSON.stringify(text)}: give a day such as 2026-11-01, or a time such as 2026-11-01T02:00Z`,
  );
}

async function pend(
  client: Client,
  name: string,
  times: (stored: StoredSchedule) => readonly number[],
): Promise<Pended> {
  const runs = await changeMarks(client, name, (stored) => {
    const asked = times(stored);
    const pending = [...new Set([...stored.marks.pending, ...asked])].sort((a, b) => a - b);
    const { pendingMax } = scheduleLimits;
    if (pending.length > pendingMax)
      throw new InputError(
        "conflict",
        "too-many-pending",
        `${pending.length} runs of ${name} would wait; at most ${pendingMax}: give fewer days`,
      );
    return { marks: { ...stored.marks, pending }, answer: asked };
  });
  const woken = await sendWakes(client, "schedule");
  return { name, runs: runs.map((ms) => ({ due: iso(ms), run: scheduledRunId(name, ms) })), woken };
}
