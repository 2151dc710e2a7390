import { app, type HttpMethod, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import type { Client } from "../../client/client.ts";
import { edgeOf, messageOf } from "../../model/errors.ts";
import { withLogOf } from "../logTo.ts";
import type { ApiHandler, ApiRequest } from "./apiRequest.ts";
import { getCalculations } from "./calculations.ts";
import { getFailures } from "./failures.ts";
import { harmless } from "./harmless.ts";
import { getHealth, getInstance, type InstanceFacts } from "./health.ts";
import { getLeader } from "./leader.ts";
import { problemOf } from "./problem.ts";
import { getQueues } from "./queues.ts";
import { getResult } from "./result.ts";
import { changeRun, deleteRun, getRun, listRuns, retryRun, submitRun } from "./runs.ts";
import { verifyRun } from "./verify.ts";

interface Route {
  readonly name: string;
  readonly method: HttpMethod;
  /** Behind the prefix that `host.json` sets. */
  readonly route: string;
  readonly handler: ApiHandler;
}

export const routes: readonly Route[] = [
  { name: "submitRun", method: "POST", route: "runs", handler: submitRun },
  { name: "listRuns", method: "GET", route: "runs", handler: listRuns },
  { name: "getRun", method: "GET", route: "runs/{id}", handler: getRun },
  { name: "changeRun", method: "PATCH", route: "runs/{id}", handler: changeRun },
  { name: "deleteRun", method: "DELETE", route: "runs/{id}", handler: deleteRun },
  { name: "retryRun", method: "POST", route: "runs/{id}/retry", handler: retryRun },
  { name: "getResult", method: "GET", route: "runs/{id}/result", handler: getResult },
  { name: "verifyRun", method: "POST", route: "runs/{id}/verify", handler: verifyRun },
  { name: "getFailures", method: "GET", route: "runs/{id}/failures", handler: getFailures },
  { name: "getCalculations", method: "GET", route: "calculations", handler: getCalculations },
  { name: "getLeader", method: "GET", route: "leader", handler: getLeader },
  { name: "getQueues", method: "GET", route: "queues", handler: getQueues },
];

/**
 * Registers the HTTP functions. `getClient` is asked with each request, so that a wrong setting or an unreachable
 * storage answers that request and keeps no function from being registered.
 */
export function registerApi(getClient: () => Client | Promise<Client>, facts: InstanceFacts): void {
  for (const { name, method, route, handler } of routes) {
    app.http(name, {
      methods: [method],
      authLevel: "function",
      route,
      handler: (request, context) => answer(handler, request, getClient, context),
    });
  }
  app.http("getInstance", {
    methods: ["GET"],
    authLevel: "function",
    route: "instance",
    handler: () => harmless(getInstance(facts)),
  });
  // The only route without a key.
  app.http("health", {
    methods: ["GET"],
    authLevel: "anonymous",
    route: "health",
    handler: () => harmless(getHealth()),
  });
}

/** The one place where what a handler throws becomes an answer and, if it is more than a caller's mistake, a log line. */
export async function answer(
  handler: ApiHandler,
  request: ApiRequest,
  getClient: () => Client | Promise<Client>,
  context: Pick<InvocationContext, "debug" | "info" | "warn" | "error">,
): Promise<HttpResponseInit> {
  try {
    const client = await getClient();
    return harmless(await withLogOf(context, () => handler(request, client)));
  } catch (error) {
    const { level } = edgeOf(error);
    if (level === "warn") context.warn(`http: ${messageOf(error)}`);
    if (level === "error") context.error("http:", error);
    return harmless(problemOf(error));
  }
}
