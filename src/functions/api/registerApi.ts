import { STATUS_CODES } from "node:http";
import { app, type HttpMethod, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import type { Client } from "../../client/client.ts";
import { edgeOf, LeasefoldError, messageOf } from "../../model/errors.ts";
import { withLogOf } from "../logTo.ts";
import type { ApiHandler, ApiRequest } from "./apiRequest.ts";
import {
  getCalculations,
  getFailures,
  getHealth,
  getInstance,
  getLeader,
  getQueues,
  type InstanceFacts,
  verifyRun,
} from "./operations.ts";
import { getResult } from "./result.ts";
import { changeRun, deleteRun, getRun, listRuns, retryRun, submitRun } from "./runs.ts";

/**
 * Makes an answer that a browser cannot run anything of, whatever a calculation or a caller put into it: the API's origin
 * has function keys within reach. Every answer goes through here, problems and health included.
 */
export const harmless = <T extends HttpResponseInit>(answer: T): T => ({
  ...answer,
  headers: { ...(answer.headers as Record<string, string> | undefined), ...harmlessHeaders },
});

export const harmlessHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
};

/** Refusals for which HTTP has a status of its own. */
const statusOfCode: Readonly<Record<string, number>> = {
  "body-too-large": 413,
  "not-json-type": 415,
  "range-not-satisfiable": 416,
  "no-answer": 504,
};

/** Seconds after which a caller may try again where storage was busy. */
const retryAfterS = 5;

/** RFC 9457 problem details of anything thrown. Only our own errors tell their message; a bug's stays in the log. */
export function problemOf(error: unknown): HttpResponseInit & { readonly status: number } {
  const known = error instanceof LeasefoldError;
  const code = known ? error.code : "internal";
  const status = statusOfCode[code] ?? edgeOf(error).httpStatus;
  const details = known ? error.details : {};
  const field = typeof details["field"] === "string" ? { field: details["field"] } : {};
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(status === 503 ? { "retry-after": String(retryAfterS) } : {}),
      ...(typeof details["contentRange"] === "string" ? { "content-range": details["contentRange"] } : {}),
    },
    jsonBody: {
      type: `urn:leasefold:error:${code}`,
      title: STATUS_CODES[status] ?? "Error",
      status,
      detail: known ? messageOf(error) : "an error inside of Leasefold; the log of the app has it",
      code,
      ...field,
    },
  };
}

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
