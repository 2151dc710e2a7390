import * as z from "zod";
import {
  addedScheduleSchema,
  addSchedule,
  deleteSchedule,
  pausedScheduleSchema,
  pauseSchedule,
} from "../../engine/client/schedules/changeSchedule.ts";
import { backfillSchedule, pendedSchema, triggerSchedule } from "../../engine/client/schedules/extraRuns.ts";
import { scheduleRequestSchema } from "../../engine/client/schedules/scheduleRequest.ts";
import {
  schedule,
  scheduleDetailsSchema,
  schedules,
  schedulesSchema,
} from "../../engine/client/schedules/schedules.ts";
import { fresh, routeParam } from "./apiRequest.ts";
import { defineRoute } from "./route.ts";

const noSchedule = { 400: ["bad-name"], 404: ["unknown-schedule"] };

const listSchedules = defineRoute({
  method: "GET",
  route: "schedules",
  summary: "Schedules by name, with the next due time and the latest run.",
  answer: schedulesSchema,
  handler: async (_request, client) => fresh({ schedules: await schedules(client) }),
});

const postSchedule = defineRoute({
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
});

const getSchedule = defineRoute({
  method: "GET",
  route: "schedules/{name}",
  summary: "One schedule with its next ten due times, and what became of the latest ones.",
  answer: scheduleDetailsSchema,
  problems: noSchedule,
  handler: async (request, client) => fresh(await schedule(client, routeParam(request, "name"))),
});

const patchSchedule = defineRoute({
  method: "PATCH",
  route: "schedules/{name}",
  summary: "Pauses or resumes a schedule. What is due during a pause is not run.",
  body: z.strictObject({ paused: z.boolean() }),
  answer: pausedScheduleSchema,
  problems: noSchedule,
  handler: async (request, client) =>
    fresh(await pauseSchedule(client, routeParam(request, "name"), request.body.paused)),
});

const removeSchedule = defineRoute({
  method: "DELETE",
  route: "schedules/{name}",
  summary: "Deletes a schedule; its runs stay.",
  answer: z.object({ name: z.string() }),
  problems: noSchedule,
  handler: async (request, client) => fresh(await deleteSchedule(client, routeParam(request, "name"))),
});

const trigger = defineRoute({
  method: "POST",
  route: "schedules/{name}/trigger",
  summary: "One run of a schedule now, with the present time in its templates.",
  body: z.strictObject({}),
  status: 202,
  answer: pendedSchema,
  problems: { ...noSchedule, 409: ["too-many-pending"] },
  handler: async (request, client) => fresh(await triggerSchedule(client, routeParam(request, "name")), 202),
});

const backfill = defineRoute({
  method: "POST",
  route: "schedules/{name}/backfill",
  summary: "The runs of past due times. One that is there is left as it is.",
  body: z.strictObject({
    from: z.string().describe("A day of its time zone, or a time with an offset; included."),
    to: z.string().describe("The same; included."),
  }),
  status: 202,
  answer: pendedSchema,
  problems: {
    400: ["bad-from", "bad-to", "bad-name"],
    404: noSchedule[404],
    409: ["too-many-pending", "not-allowed"],
  },
  handler: async (request, client) =>
    fresh(await backfillSchedule(client, routeParam(request, "name"), request.body), 202),
});

export const scheduleRoutes = [
  listSchedules,
  postSchedule,
  getSchedule,
  patchSchedule,
  removeSchedule,
  trigger,
  backfill,
];
