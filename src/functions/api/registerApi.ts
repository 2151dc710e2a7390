import { STATUS_CODES } from "node:http";
import { app, type HttpMethod, type HttpResponseInit, type InvocationContext } from "@azure/functions";
import { type Client, clientLimits } from "../../client/client.ts";
import { describeCalculations } from "../../client/describeCalculations.ts";
import { leader } from "../../client/leader.ts";
import { queues } from "../../client/queues.ts";
import { runs } from "../../client/runs.ts";
import { status } from "../../client/status.ts";
import { edgeOf, InputError, LeasefoldError, messageOf } from "../../model/errors.ts";
import { withLogOf } from "../logTo.ts";
import { type ApiHandler, type ApiRequest, fresh, queryWhole, routeParam } from "./apiRequest.ts";
import { methodsOf, otherMethods } from "./methods.ts";
import { getFailures, getHealth, getInstance, type InstanceFacts, verifyRun } from "./operations.ts";
import { getResult } from "./result.ts";
import { changeRun, deleteRun, retryRun, submitRun } from "./runs.ts";

/**
 * Keeps a browser from running anything in an answer, whatever a calculation or a caller put into it: scripts of the API's
 * origin could reach function keys. Every answer passes here, problems and health included.
 */
const harmless = <T extends HttpResponseInit>(answer: T): T => ({
  ...answer,
  headers: {
    ...(answer.headers as Record<string, string> | undefined),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
  },
});

/** Errors for which HTTP has a specific status. */
const statusOfCode: Readonly<Record<string, number>> = {
  "method-not-allowed": 405,
  "body-too-large": 413,
  "answer-too-large": 413,
  "not-json-type": 415,
  "range-not-satisfiable": 416,
  "no-answer": 504,
};

/** Seconds after which a caller may retry if storage was busy. */
const retryAfterS = 5;

/** RFC 9457 problem details of anything thrown. The message of a bug stays in the log. */
function problemOf(error: unknown): HttpResponseInit & { readonly status: number } {
  const known = error instanceof LeasefoldError;
  const code = known ? error.code : "internal";
  const status = statusOfCode[code] ?? edgeOf(error).httpStatus;
  const { field, contentRange, allow } = known ? error.details : {};
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(status === 503 ? { "retry-after": String(retryAfterS) } : {}),
      ...(typeof contentRange === "string" ? { "content-range": contentRange } : {}),
      ...(typeof allow === "string" ? { allow } : {}),
    },
    jsonBody: {
      type: `urn:leasefold:error:${code}`,
      title: STATUS_CODES[status] ?? "Error",
      status,
      detail: known ? messageOf(error) : "an error inside Leasefold; the log of the app has it",
      code,
      ...(typeof field === "string" ? { field } : {}),
    },
  };
}

interface Route {
  readonly name: string;
  readonly method: HttpMethod;
  /** Follows the prefix that `host.json` sets. */
  readonly route: string;
  readonly handler: ApiHandler;
}

const listRuns: ApiHandler = async (request, client) => {
  const given = (name: string) => request.query.get(name) ?? undefined;
  const filters = { cursor: given("cursor"), phase: given("phase"), calculation: given("calculation") };
  const limit = queryWhole(request, "limit", clientLimits.runsListedMax);
  return fresh(await runs(client, { limit, ...filters }));
};
const getRun: ApiHandler = async (request, client) => fresh(await status(client, routeParam(request, "id")));
const getLeader: ApiHandler = async (_, client) => fresh(await leader(client));
const getQueues: ApiHandler = async (_, client) => fresh({ queues: await queues(client) });
const getCalculations: ApiHandler = async (_, client) =>
  fresh({ calculations: describeCalculations(client.calculations) });

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
 * Registers the HTTP functions. Each request calls `getClient`, so that a wrong setting or unavailable storage fails that
 * request and not the registration.
 */
export function registerApi(getClient: () => Client | Promise<Client>, facts: InstanceFacts): void {
  for (const { name, method, route, handler } of routes) {
    app.http(name, {
      methods: methodsOf(method),
      authLevel: "function",
      route,
      handler: (request, context) => answer(handler, request, getClient, context),
    });
  }
  app.http("getInstance", {
    methods: methodsOf("GET"),
    authLevel: "function",
    route: "instance",
    handler: () => harmless(getInstance(facts)),
  });
  // The only route without a key.
  app.http("health", {
    methods: methodsOf("GET"),
    authLevel: "anonymous",
    route: "health",
    handler: () => harmless(getHealth()),
  });
  const own = [
    { name: "getInstance", method: "GET", route: "instance" },
    { name: "health", method: "GET", route: "health" },
  ] as const;
  for (const { name, route, methods, allow } of otherMethods([...routes, ...own])) {
    const handler = ({ method }: Pick<ApiRequest, "method">) => answerOther(method, allow);
    app.http(name, { methods, authLevel: "function", route, handler });
  }
}

/** Answers a method that its route does not have: OPTIONS with those that it has, any other with 405. */
function answerOther(method: string, allow: string): HttpResponseInit {
  if (method === "OPTIONS") return harmless({ status: 204, headers: { allow } });
  const message = `${method}: not a method of this route; it has ${allow}`;
  return harmless(problemOf(new InputError("invalid", "method-not-allowed", message, { allow })));
}

/** Turns what a handler throws into an answer and, unless it is a caller's mistake, a log line. */
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
