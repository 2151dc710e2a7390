import * as z from "zod";
import { calculationsSchema } from "../../engine/client/describeCalculations.ts";
import { estimateSchema } from "../../engine/client/estimate/estimateRun.ts";
import { planSchema } from "../../engine/client/estimate/planInThread.ts";
import { workers, workersSchema } from "../../engine/client/inspection/workers.ts";
import { leader, leaderSchema } from "../../engine/client/leader.ts";
import { peekedSchema, peekQueue, queues, queuesSchema } from "../../engine/client/queues.ts";
import { limits } from "../../engine/model/limits.ts";
import { harmless } from "./answer.ts";
import { fresh, routeParam } from "./apiRequest.ts";
import { defineRoute, localRoute, queryWhole } from "./route.ts";

export const getCalculations = defineRoute({
  method: "GET",
  route: "calculations",
  summary: "Calculations with their parameters, as rows and as JSON Schema.",
  answer: calculationsSchema,
  handler: async (_request, _client, { calculations }) => fresh({ calculations: await calculations() }),
});

export const planRun = defineRoute({
  method: "POST",
  route: "plan",
  summary: "Size, duration and cost estimate of a run, before anything is paid. Stores nothing.",
  body: planSchema,
  answer: estimateSchema,
  problems: {
    400: ["unknown-calculation", "params-too-large"],
    503: ["plans-at-once"],
    504: ["plan-over-limit"],
  },
  handler: async ({ body }, _client, { plan }) => fresh(await plan(body)),
});

export const getLeader = defineRoute({
  method: "GET",
  route: "leader",
  summary: "Who leads, since when, and the last terms.",
  answer: leaderSchema,
  handler: async (_request, client) => fresh(await leader(client)),
});

export const getWorkers = defineRoute({
  method: "GET",
  route: "workers",
  summary: "The instances at work, by their heartbeats, and how many compute each run. One list call.",
  answer: workersSchema,
  handler: async (_request, client) => fresh(await workers(client)),
});

export const getQueues = defineRoute({
  method: "GET",
  route: "queues",
  summary: "Messages in each queue.",
  answer: queuesSchema,
  handler: async (_request, client) => fresh({ queues: await queues(client) }),
});

export const getQueue = defineRoute({
  method: "GET",
  route: "queues/{name}",
  summary: "The first messages of a queue, decoded, without dequeuing them.",
  query: { n: queryWhole(limits.peekMax).describe("Messages at most; 1 by default.") },
  answer: peekedSchema,
  problems: { 404: ["unknown-queue"] },
  handler: async (request, client) =>
    fresh(await peekQueue(client, routeParam(request, "name"), request.query.n)),
});

/** Anonymous, so it reveals nothing else: a version would tell attackers which flaws to try. */
export const getHealth = localRoute({
  method: "GET",
  route: "health",
  summary: "Whether the app answers.",
  anonymous: true,
  answer: z.object({ ok: z.literal(true) }),
  give: () => harmless(fresh({ ok: true })),
});

/** Makes no storage call, so it answers while storage is unavailable. */
export const getInstance = localRoute({
  method: "GET",
  route: "instance",
  summary: "Version, commit and name of the instance that answered.",
  answer: z.object({
    version: z.string(),
    commit: z.string().optional(),
    instance: z.string(),
    readOnly: z.boolean(),
    lastTickAgeS: z.number().describe("By its own clock; absent before its first tick.").optional(),
  }),
  give(_request, _log, { lastTickAgeMs, readOnly, version, commit, instance }) {
    const ageMs = lastTickAgeMs();
    const lastTickAgeS = ageMs === undefined ? undefined : Math.round(ageMs) / 1000;
    return harmless(fresh({ version, commit, instance: instance(), readOnly: readOnly(), lastTickAgeS }));
  },
});
