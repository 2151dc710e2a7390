import * as z from "zod";
import {
  addedScheduleSchema,
  addSchedule,
  deleteSchedule,
  pausedScheduleSchema,
  pauseSchedule,
  schedules,
  schedulesSchema,
  triggerSchedule,
} from "../../engine/client/schedules/changeSchedule.ts";
import { scheduleRequestSchema } from "../../engine/client/schedules/scheduleRequest.ts";
import { submittedSchema } from "../../engine/client/submit.ts";
import { fresh, routeParam } from "./apiRequest.ts";
import { defineRoute } from "./route.ts";
import { noRun } from "./runs.ts";

const noSchedule = { 400: ["bad-name"], 404: ["unknown-schedule"] };

export const scheduleRoutes = [
  defineRoute({
    method: "GET",
    route: "schedules",
    summary: "Schedules by name, with the next due time and the latest run.",
    answer: schedulesSchema,
    handler: async (_request, client) => fresh(await schedules(client)),
  }),
  defineRoute({
    method: "POST",
    route: "schedules",
    summary:
      "Makes a schedule, or with `replace` changes it. Templates such as `{date}` in parameters are filled.",
    body: scheduleRequestSchema,
    status: 201,
    answer: addedScheduleSchema,
    problems: {
      400: ["bad-cron", "bad-time-zone", "bad-template", "bad-name", "bad-parameter"],
      409: ["schedule-exists", "too-many-schedules"],
    },
    handler: async ({ body }, client) => fresh(await addSchedule(client, body), 201),
  }),
  defineRoute({
    method: "PATCH",
    route: "schedules/{name}",
    summary: "Pauses or resumes a schedule. What is due during a pause is not run.",
    body: z.strictObject({ paused: z.boolean() }),
    answer: pausedScheduleSchema,
    problems: noSchedule,
    handler: async (request, client) =>
      fresh(await pauseSchedule(client, routeParam(request, "name"), request.body.paused)),
  }),
  defineRoute({
    method: "DELETE",
    route: "schedules/{name}",
    summary: "Deletes a schedule; its runs stay.",
    answer: z.object({ name: z.string() }),
    problems: noSchedule,
    handler: async (request, client) => fresh(await deleteSchedule(client, routeParam(request, "name"))),
  }),
  defineRoute({
    method: "POST",
    route: "schedules/{name}/trigger",
    summary: "The run of a past time, now by default. One that is there is left as it is.",
    body: z.strictObject({ at: z.string().describe("A time with an offset.").optional() }),
    status: 202,
    answer: submittedSchema,
    problems: {
      400: ["bad-name", "bad-at"],
      404: noSchedule[404],
      409: [...noRun[409], "id-taken", "being-deleted"],
    },
    handler: async (request, client) =>
      fresh(await triggerSchedule(client, routeParam(request, "name"), request.body.at), 202),
  }),
];
