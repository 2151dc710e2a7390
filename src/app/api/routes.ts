import * as z from "zod";
import * as inspect from "./inspect.ts";
import { givePage } from "./page.ts";
import * as result from "./result.ts";
import { localRoute, type Route } from "./route.ts";
import * as runs from "./runs.ts";
import { scheduleRoutes } from "./scheduleRoutes.ts";
import * as service from "./service.ts";
import * as uploads from "./uploads.ts";

// The page itself holds no data, so it needs no key.
const page = { method: "GET", anonymous: true, cached: true } as const;
const give: Route["give"] = (request, log) => givePage(request, log);
const openApi: Route["give"] = (request, log) =>
  givePage({ ...request, params: { file: "openapi.json" } }, log);

/** Every route of the API. No two match one path by one method. */
export const routes: readonly Route[] = [
  runs.submitRun,
  runs.listRuns,
  runs.getOverview,
  runs.getCosts,
  inspect.getRun,
  runs.changeRun,
  runs.deleteRun,
  runs.retryRun,
  result.getResult,
  result.getResultLink,
  result.getSavedFile,
  result.getManifest,
  inspect.verifyRun,
  inspect.getFailures,
  inspect.getLogs,
  inspect.getMap,
  inspect.getDurations,
  inspect.getTimeline,
  inspect.getReport,
  service.getCalculations,
  service.planRun,
  ...scheduleRoutes,
  uploads.getUploads,
  uploads.postUpload,
  service.getLeader,
  service.getWorkers,
  service.getQueues,
  service.getQueue,
  service.getInstance,
  service.getHealth,
  localRoute({
    ...page,
    give,
    route: "ui",
    summary: "The dashboard, which asks for the key itself.",
    answer: "text/html",
  }),
  localRoute({ ...page, give, route: "ui/{file}", summary: "Its script and its style.", answer: "*/*" }),
  localRoute({
    ...page,
    give: openApi,
    route: "openapi.json",
    summary: "This document, in OpenAPI 3.1.",
    answer: z.record(z.string(), z.unknown()),
  }),
];
