import { clientLimits } from "../../engine/client/client.ts";
import { workers } from "../../engine/client/inspection/workers.ts";
import { leader } from "../../engine/client/leader.ts";
import { queues } from "../../engine/client/queues.ts";
import { runs } from "../../engine/client/runs.ts";
import { type ApiLog, harmless } from "./answer.ts";
import { type ApiAnswer, type ApiHandler, type ApiRequest, fresh, queryWhole } from "./apiRequest.ts";
import * as inspect from "./inspect.ts";
import { givePage } from "./page.ts";
import { getResult, getSavedFile } from "./result.ts";
import { changeRun, deleteRun, retryRun, submitRun } from "./runs.ts";
import { getUploads, postUpload } from "./uploads.ts";

/** The methods that routes have. */
export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

export interface Route {
  readonly method: HttpMethod;
  /** Literal segments and parameters. It follows the prefix that `host.json` sets, and its first segment is a literal. */
  readonly route: string;
  /** Names of its query parameters; none by default. */
  readonly query?: readonly string[];
  /** Served without a key. All routes of one first segment agree, because the host checks keys per function. */
  readonly anonymous?: true;
  readonly handler: ApiHandler | LocalHandler;
}

/** Answers without settings and storage, so also while those are wrong or away. */
interface LocalHandler {
  readonly give: (request: ApiRequest, log: ApiLog, facts: inspect.InstanceFacts) => ApiAnswer;
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

const getInstance: LocalHandler = { give: (_request, _log, facts) => harmless(inspect.getInstance(facts)) };
const getHealth: LocalHandler = { give: () => harmless(inspect.getHealth()) };
// The page itself holds no data, so it needs no key.
const getPage: LocalHandler = { give: (request, log) => givePage(request, log) };

/** Every route of the API. No two match one path by one method. */
export const routes: readonly Route[] = [
  { method: "POST", route: "runs", handler: submitRun },
  { method: "GET", route: "runs", query: ["limit", "cursor", "phase", "calculation"], handler: listRuns },
  { method: "GET", route: "runs/{id}", query: ["wait"], handler: inspect.getRun },
  { method: "PATCH", route: "runs/{id}", handler: changeRun },
  { method: "DELETE", route: "runs/{id}", handler: deleteRun },
  { method: "POST", route: "runs/{id}/retry", handler: retryRun },
  { method: "GET", route: "runs/{id}/result", query: ["generation", "soFar", "wait"], handler: getResult },
  { method: "GET", route: "runs/{id}/files/{name}", handler: getSavedFile },
  { method: "GET", route: "runs/{id}/manifest", query: ["generation"], handler: inspect.getManifest },
  { method: "POST", route: "runs/{id}/verify", query: ["sample", "wait"], handler: inspect.verifyRun },
  { method: "GET", route: "runs/{id}/failures", query: ["max"], handler: inspect.getFailures },
  { method: "GET", route: "runs/{id}/logs", query: ["chunk", "max"], handler: inspect.getLogs },
  { method: "GET", route: "runs/{id}/map", handler: inspect.getMap },
  { method: "GET", route: "runs/{id}/durations", handler: inspect.getDurations },
  { method: "GET", route: "runs/{id}/timeline", handler: inspect.getTimeline },
  { method: "GET", route: "runs/{id}/report", handler: inspect.getReport },
  { method: "GET", route: "calculations", handler: getCalculations },
  { method: "POST", route: "plan", handler: inspect.planRun },
  { method: "GET", route: "uploads", handler: getUploads },
  { method: "POST", route: "uploads/{prefix}/{path}", query: ["replace"], handler: postUpload },
  { method: "GET", route: "leader", handler: getLeader },
  { method: "GET", route: "workers", handler: getWorkers },
  { method: "GET", route: "queues", handler: getQueues },
  { method: "GET", route: "queues/{name}", query: ["n"], handler: inspect.getQueue },
  { method: "GET", route: "instance", handler: getInstance },
  { method: "GET", route: "health", anonymous: true, handler: getHealth },
  { method: "GET", route: "ui", anonymous: true, handler: getPage },
  { method: "GET", route: "ui/{file}", anonymous: true, handler: getPage },
];
