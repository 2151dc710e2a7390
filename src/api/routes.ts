import { clientLimits } from "../client/client.ts";
import { workers } from "../client/inspection/workers.ts";
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
  problemOf,
} from "./answer.ts";
import {
  type ApiAnswer,
  type ApiHandler,
  type ApiRequest,
  checkQuery,
  fresh,
  queryWhole,
} from "./apiRequest.ts";
import * as inspect from "./inspect.ts";
import { givePage } from "./page.ts";
import { getResult } from "./result.ts";
import { changeRun, deleteRun, retryRun, submitRun } from "./runs.ts";

interface Route {
  readonly name: string;
  readonly method: HttpMethod;
  /** Follows the prefix that `host.json` sets. */
  readonly route: string;
  /** Names of its query parameters; none by default. */
  readonly query?: readonly string[];
  readonly handler: ApiHandler;
}

const listRuns: ApiHandler = async (request, client) => {
  const given = (name: string) => request.query.get(name) ?? undefined;
  const filters = { cursor: given("cursor"), phase: given("phase"), calculation: given("calculation") };
  const limit = queryWhole(request, "limit", clientLimits.runsListedMax);
  return fresh(await runs(client, { limit, ...filters }));
};
const getLeader: ApiHandler = async (_, client) => fresh(await leader(client));
const getWorkers: ApiHandler = async (_, client) => fresh(await workers(client));
const getQueues: ApiHandler = async (_, client) => fresh({ queues: await queues(client) });
const getCalculations: ApiHandler = async (_request, _client, { calculations }) =>
  fresh({ calculations: await calculations() });

export const routes: readonly Route[] = [
  { name: "submitRun", method: "POST", route: "runs", handler: submitRun },
  {
    ...{ name: "listRuns", method: "GET", route: "runs", handler: listRuns },
    query: ["limit", "cursor", "phase", "calculation"],
  },
  { name: "getRun", method: "GET", route: "runs/{id}", handler: inspect.getRun },
  { name: "changeRun", method: "PATCH", route: "runs/{id}", handler: changeRun },
  { name: "deleteRun", method: "DELETE", route: "runs/{id}", handler: deleteRun },
  { name: "retryRun", method: "POST", route: "runs/{id}/retry", handler: retryRun },
  {
    ...{ name: "getResult", method: "GET", route: "runs/{id}/result", handler: getResult },
    query: ["generation", "soFar", "wait"],
  },
  {
    ...{ name: "getManifest", method: "GET", route: "runs/{id}/manifest", handler: inspect.getManifest },
    query: ["generation"],
  },
  {
    ...{ name: "verifyRun", method: "POST", route: "runs/{id}/verify", handler: inspect.verifyRun },
    query: ["sample", "wait"],
  },
  {
    ...{ name: "getFailures", method: "GET", route: "runs/{id}/failures", handler: inspect.getFailures },
    query: ["max"],
  },
  { name: "getMap", method: "GET", route: "runs/{id}/map", handler: inspect.getMap },
  { name: "getDurations", method: "GET", route: "runs/{id}/durations", handler: inspect.getDurations },
  { name: "getTimeline", method: "GET", route: "runs/{id}/timeline", handler: inspect.getTimeline },
  { name: "getReport", method: "GET", route: "runs/{id}/report", handler: inspect.getReport },
  { name: "getCalculations", method: "GET", route: "calculations", handler: getCalculations },
  { name: "planRun", method: "POST", route: "plan", handler: inspect.planRun },
  { name: "getLeader", method: "GET", route: "leader", handler: getLeader },
  { name: "getWorkers", method: "GET", route: "workers", handler: getWorkers },
  { name: "getQueues", method: "GET", route: "queues", handler: getQueues },
  { name: "getQueue", method: "GET", route: "queues/{name}", query: ["n"], handler: inspect.getQueue },
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

interface OwnFunction extends ApiFunction, Pick<Route, "method" | "query"> {}

/** Refuses unknown query parameters, but not where no key is needed: health probes and trackers of links add their own. */
const checkingQuery = (one: OwnFunction): OwnFunction => ({
  ...one,
  async handle(request, log) {
    try {
      if (!one.anonymous) checkQuery(request, one.query ?? []);
    } catch (error) {
      return harmless(problemOf(error));
    }
    return one.handle(request, log);
  },
});

/** Every function of the API. Each method of each route is taken by exactly one of them. */
export function apiFunctions(host: ApiHost, facts: inspect.InstanceFacts): readonly ApiFunction[] {
  const ofRoutes = routes.map(
    ({ handler, ...one }): OwnFunction => ({
      ...{ ...one, methods: methodsOf(one.method), anonymous: false },
      handle: (request, log) => answer(handler, request, host, log),
    }),
  );
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
  const own = [...ofRoutes, ...reads, ...page].map(checkingQuery);
  const others = otherMethods(own).map(({ name, route, methods, allow }) => ({
    ...{ name, route, methods, anonymous: false },
    handle: async ({ method }: ApiRequest) => answerOther(method, allow),
  }));
  return [...own, ...others];
}
