import { clientLimits } from "../client/client.ts";
import { leader } from "../client/leader.ts";
import { queues } from "../client/queues.ts";
import { runs } from "../client/runs.ts";
import {
  type ApiHost,
  type ApiLog,
  answer,
  answerOther,
  type HttpMethod,
  harmless,
  methodsOf,
  otherMethods,
} from "./answer.ts";
import { type ApiAnswer, type ApiHandler, type ApiRequest, fresh, queryWhole } from "./apiRequest.ts";
import * as inspect from "./inspect.ts";
import { givePage } from "./page.ts";
import { getResult } from "./result.ts";
import { changeRun, deleteRun, retryRun, submitRun } from "./runs.ts";

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
const getLeader: ApiHandler = async (_, client) => fresh(await leader(client));
const getQueues: ApiHandler = async (_, client) => fresh({ queues: await queues(client) });
const getCalculations: ApiHandler = async (_request, _client, { calculations }) =>
  fresh({ calculations: await calculations() });

export const routes: readonly Route[] = [
  { name: "submitRun", method: "POST", route: "runs", handler: submitRun },
  { name: "listRuns", method: "GET", route: "runs", handler: listRuns },
  { name: "getRun", method: "GET", route: "runs/{id}", handler: inspect.getRun },
  { name: "changeRun", method: "PATCH", route: "runs/{id}", handler: changeRun },
  { name: "deleteRun", method: "DELETE", route: "runs/{id}", handler: deleteRun },
  { name: "retryRun", method: "POST", route: "runs/{id}/retry", handler: retryRun },
  { name: "getResult", method: "GET", route: "runs/{id}/result", handler: getResult },
  { name: "getManifest", method: "GET", route: "runs/{id}/manifest", handler: inspect.getManifest },
  { name: "verifyRun", method: "POST", route: "runs/{id}/verify", handler: inspect.verifyRun },
  { name: "getFailures", method: "GET", route: "runs/{id}/failures", handler: inspect.getFailures },
  { name: "getMap", method: "GET", route: "runs/{id}/map", handler: inspect.getMap },
  { name: "getDurations", method: "GET", route: "runs/{id}/durations", handler: inspect.getDurations },
  { name: "getTimeline", method: "GET", route: "runs/{id}/timeline", handler: inspect.getTimeline },
  { name: "getReport", method: "GET", route: "runs/{id}/report", handler: inspect.getReport },
  { name: "getCalculations", method: "GET", route: "calculations", handler: getCalculations },
  { name: "planRun", method: "POST", route: "plan", handler: inspect.planRun },
  { name: "getLeader", method: "GET", route: "leader", handler: getLeader },
  { name: "getQueues", method: "GET", route: "queues", handler: getQueues },
  { name: "getQueue", method: "GET", route: "queues/{name}", handler: inspect.getQueue },
];

/** A function of the API, for whoever serves it: the Functions host, or `leasefold ui`. */
export interface ApiFunction {
  readonly name: string;
  readonly methods: readonly HttpMethod[];
  readonly route: string;
  /** Served without a key. */
  readonly anonymous: boolean;
  /** Never rejects. */
  handle(request: ApiRequest, log: ApiLog): Promise<ApiAnswer>;
}

/** Every function of the API. Each method of each route is taken by exactly one of them. */
export function apiFunctions(host: ApiHost, facts: inspect.InstanceFacts): readonly ApiFunction[] {
  const ofRoutes = routes.map(({ name, method, route, handler }): ApiFunction & { method: HttpMethod } => ({
    ...{ name, method, route, methods: methodsOf(method), anonymous: false },
    handle: (request, log) => answer(handler, request, host, log),
  }));
  const reads = [
    // Makes no storage call, so it answers while storage is unavailable.
    { name: "getInstance", route: "instance", anonymous: false, give: () => inspect.getInstance(facts) },
    { name: "health", route: "health", anonymous: true, give: inspect.getHealth },
  ].map(({ give, ...one }) => ({
    ...{ ...one, method: "GET" as const, methods: methodsOf("GET") },
    handle: async () => harmless(give()),
  }));
  // The page itself holds no data, so it needs no key.
  const page = [
    { name: "getUi", route: "ui" },
    { name: "getUiFile", route: "ui/{file}" },
  ].map((one) => ({
    ...{ ...one, method: "GET" as const, methods: methodsOf("GET"), anonymous: true },
    handle: async (request: ApiRequest, log: ApiLog) => givePage(request, log),
  }));
  const own = [...ofRoutes, ...reads, ...page];
  const others = otherMethods(own).map(({ name, route, methods, allow }) => ({
    ...{ name, route, methods, anonymous: false },
    handle: async ({ method }: ApiRequest) => answerOther(method, allow),
  }));
  return [...own, ...others];
}
