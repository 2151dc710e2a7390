import type { Answers, Bodies, Submitted } from "./apiTypes.ts";
import { type Ask, jsonBy, persist } from "./request.ts";

/** The schedules of an installation; docs/OPERATIONS.md says what they do. */
export function schedulesOf(ask: Ask) {
  const pathOf = (name: string): string => `schedules/${encodeURIComponent(name)}`;
  const json = jsonBy(ask);
  const setPaused = (name: string, paused: boolean) =>
    persist(() => json<Answers["patchSchedulesName"]>(pathOf(name), { method: "PATCH", body: { paused } }));
  const answer = () => persist(() => json<Answers["getSchedules"]>("schedules"));
  return {
    list: async () => (await answer()).schedules,
    /** Blobs among the schedules that do not decode; they are never due. */
    unreadable: async () => (await answer()).unreadable,
    /** Throws `ApiError` with `schedule-exists` for another schedule of that name, unless the request says `replace`. */
    add: (request: Bodies["postSchedules"]) =>
      persist(() => json<Answers["postSchedules"]>("schedules", { method: "POST", body: request })),
    pause: (name: string) => setPaused(name, true),
    resume: (name: string) => setPaused(name, false),
    /** The run of a past time, now by default. Not repeated after a lost answer, as each second's is another run. */
    trigger: (name: string, given: { readonly at?: string | undefined } = {}) =>
      json<Submitted>(`${pathOf(name)}/trigger`, { method: "POST", body: given }),
    delete: (name: string) => json<Answers["deleteSchedulesName"]>(pathOf(name), { method: "DELETE" }),
  };
}
