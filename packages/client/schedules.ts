import type {
  AddedSchedule,
  PausedSchedule,
  ScheduleView,
} from "../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../src/engine/client/schedules/scheduleRequest.ts";
import type { Submitted } from "../../src/engine/client/submit.ts";
import { type Ask, jsonBy, persist } from "./request.ts";

/** The schedules of an installation; docs/SCHEDULES.md says what they do. */
export function schedulesOf(ask: Ask) {
  const pathOf = (name: string): string => `schedules/${encodeURIComponent(name)}`;
  const json = jsonBy(ask);
  const setPaused = (name: string, paused: boolean) =>
    persist(() => json<PausedSchedule>(pathOf(name), { method: "PATCH", body: { paused } }));
  return {
    list: async () =>
      (await persist(() => json<{ readonly schedules: readonly ScheduleView[] }>("schedules"))).schedules,
    /** Throws `ApiError` with `schedule-exists` for another schedule of that name, unless the request says `replace`. */
    add: (request: ScheduleRequest) =>
      persist(() => json<AddedSchedule>("schedules", { method: "POST", body: request })),
    pause: (name: string) => setPaused(name, true),
    resume: (name: string) => setPaused(name, false),
    /** The run of a past time, now by default. Not repeated after a lost answer, as each second's is another run. */
    trigger: (name: string, given: { readonly at?: string | undefined } = {}) =>
      json<Submitted>(`${pathOf(name)}/trigger`, { method: "POST", body: given }),
    delete: (name: string) => json<{ readonly name: string }>(pathOf(name), { method: "DELETE" }),
  };
}
