import type { AddedSchedule, PausedSchedule } from "../engine/client/schedules/changeSchedule.ts";
import type { Pended } from "../engine/client/schedules/extraRuns.ts";
import type { ScheduleRequest } from "../engine/client/schedules/scheduleRequest.ts";
import type { ScheduleDetails, ScheduleView } from "../engine/client/schedules/schedules.ts";
import { type Ask, jsonBy, persist } from "./request.ts";

/** The schedules of an installation; docs/SCHEDULES.md says what they do. */
export function schedulesOf(ask: Ask) {
  const pathOf = (name: string): string => `schedules/${encodeURIComponent(name)}`;
  const json = jsonBy(ask);
  const get = <T>(path: string) => persist(() => json<T>(path));
  const setPaused = (name: string, paused: boolean) =>
    persist(() => json<PausedSchedule>(pathOf(name), { method: "PATCH", body: { paused } }));
  return {
    list: async () => (await get<{ readonly schedules: readonly ScheduleView[] }>("schedules")).schedules,
    get: (name: string) => get<ScheduleDetails>(pathOf(name)),
    /** Throws `ApiError` with `schedule-exists` for another schedule of that name, unless the request says `replace`. */
    add: (request: ScheduleRequest) =>
      persist(() => json<AddedSchedule>("schedules", { method: "POST", body: request })),
    pause: (name: string) => setPaused(name, true),
    resume: (name: string) => setPaused(name, false),
    /** One run now. Not repeated after a lost answer, as each is another run. */
    trigger: (name: string) => json<Pended>(`${pathOf(name)}/trigger`, { method: "POST", body: {} }),
    /** The runs of past due times, from `from` to `to`, both included: days of its time zone, or times with an offset. */
    backfill: (name: string, given: { readonly from: string; readonly to: string }) =>
      persist(() => json<Pended>(`${pathOf(name)}/backfill`, { method: "POST", body: given })),
    delete: (name: string) => json<{ readonly name: string }>(pathOf(name), { method: "DELETE" }),
  };
}
