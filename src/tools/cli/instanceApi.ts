import { availableParallelism } from "node:os";
import { ApiError, asker, errorOf } from "../../apiClient/request.ts";
import type { ApiPorts } from "../../app/api/apiRequest.ts";
import { checkNesting } from "../../engine/calculation/params.ts";
import { clientLimits } from "../../engine/client/client.ts";
import { calculationsSchema } from "../../engine/client/describeCalculations.ts";
import type { RunEstimate } from "../../engine/client/estimate/estimateRun.ts";
import type { PlanWorkers } from "../../engine/client/estimate/planWorkers.ts";
import { type AddedSchedule, addedScheduleSchema } from "../../engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../engine/client/schedules/scheduleRequest.ts";
import { submittedSchema } from "../../engine/client/submit.ts";
import { InputError, messageOf, StorageError } from "../../engine/model/errors.ts";
import { userHeader } from "../../engine/model/labels.ts";
import { localFleet } from "../local/instanceEnv.ts";
import { instanceDown } from "../local/instancePort.ts";
import { findLocalFile, type LocalFile } from "../local/localFile.ts";
import { userName } from "./actor.ts";
import { type ConnectOptions, namespaceOf, namesStorage, type Surroundings } from "./connect.ts";

/**
 * The HTTP API of the local instances in this folder or above. They know the user's calculations; this process loads
 * only files that its own user names.
 */
export interface InstanceApi extends Pick<ApiPorts, "calculations" | "submit" | "plan"> {
  schedule(request: ScheduleRequest): Promise<AddedSchedule>;
  /** They load a changed file by themselves. */
  readonly watch?: boolean | undefined;
  /** Threads of all of them together. */
  readonly fleet?: PlanWorkers | undefined;
}

/** An instance that takes longer is skipped. */
const answerMs = 10_000;
const planAnswerMs = clientLimits.planLimitMs + answerMs;

/** Undefined if nothing runs, or if options or settings name the storage. */
export async function findInstanceApi(
  options: ConnectOptions,
  { env, folder }: Surroundings,
): Promise<InstanceApi | undefined> {
  if (namesStorage(options, env)) return undefined;
  const found = await findLocalFile(env, folder);
  if (found.kind !== "found" || found.local.namespace !== namespaceOf(options, env)) return undefined;
  const { local } = found;
  const json = async (
    path: string,
    body?: object,
    run?: { readonly calculation: string; readonly params?: unknown },
    waitMs = answerMs,
  ) => {
    if (run !== undefined) checkNesting({ name: run.calculation }, run.params);
    const ask = asker({
      url: anyInstance,
      fetch: firstOf(local, waitMs),
      proof: () => ({
        "x-functions-key": local.functionKey,
        [userHeader]: encodeURIComponent(userName()),
      }),
    });
    const answer = await ask(path, body && { method: "POST", body }).catch(refuse);
    return await answer.json();
  };
  return {
    watch: local.watch,
    fleet: localFleet(availableParallelism(), local.instances.length),
    calculations: async () => calculationsSchema.parse(await json("calculations")).calculations,
    submit: async (request) => submittedSchema.parse(await json("runs", request, request)),
    schedule: async (request) => addedScheduleSchema.parse(await json("schedules", request, request.run)),
    // Passed on as it is; an instance of another version may say more or less.
    plan: async (request) => (await json("plan", request, request, planAnswerMs)) as RunEstimate,
  };
}

const anyInstance = "http://127.0.0.1/api/";

/** `fetch` of the first instance that responds; one that is down gets neither key nor request. */
const firstOf =
  (local: LocalFile, waitMs: number): typeof fetch =>
  async (input, init) => {
    const path = String(input).slice(anyInstance.length);
    const why: string[] = [];
    for (const { name, httpUrl, down } of local.instances) {
      if (down !== undefined) why.push(`${name} is down: ${down.reason}`);
      if (httpUrl === undefined || down !== undefined) continue;
      const signal = AbortSignal.timeout(waitMs);
      const answer = await fetch(`${httpUrl}/api/${path}`, { ...init, signal }).catch((error: unknown) => {
        why.push(`${name}: ${messageOf(error)}`);
      });
      if (answer === undefined) continue;
      // It ended after the state was written, and nobody has served the request.
      if (answer.status !== 503 || (await errorOf(answer.clone())).code !== instanceDown) return answer;
      why.push(`${name} is down`);
    }
    throw new StorageError("busy", "", undefined, `no instance answers (${why.join("; ")})`);
  };

/** Throws what a command tells of an error of the client. */
function refuse(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  const { status, code, field, message, cause } = error;
  if (status === 0) throw cause ?? error;
  if (status >= 500) throw new StorageError("busy", "", status, `an instance failed: ${message}`);
  throw new InputError(
    status === 409 ? "conflict" : "invalid",
    code,
    message,
    field === undefined ? {} : { field },
  );
}
