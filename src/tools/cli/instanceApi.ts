import { availableParallelism } from "node:os";
import * as z from "zod";
import type { ApiPorts } from "../../app/api/apiRequest.ts";
import { checkNesting } from "../../engine/calculation/params.ts";
import { clientLimits } from "../../engine/client/client.ts";
import { calculationsSchema } from "../../engine/client/describeCalculations.ts";
import type { RunEstimate } from "../../engine/client/estimate/estimateRun.ts";
import type { PlanWorkers } from "../../engine/client/estimate/planWorkers.ts";
import { submittedSchema } from "../../engine/client/submit.ts";
import { InputError, messageOf, StorageError } from "../../engine/model/errors.ts";
import { localFleet } from "../local/instanceEnv.ts";
import { instanceDown } from "../local/instancePort.ts";
import { findLocalFile, type LocalFile } from "../local/localFile.ts";
import { type ConnectOptions, namespaceOf, namesStorage, type Surroundings } from "./connect.ts";

/**
 * The HTTP API of the local instances in this folder or above. They know the user's calculations; this process loads
 * only files that its own user names.
 */
export interface InstanceApi extends Pick<ApiPorts, "calculations" | "submit" | "plan"> {
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
  return {
    watch: local.watch,
    fleet: localFleet(availableParallelism(), local.instances.length),
    calculations: async () => calculationsSchema.parse(await ask(local, "GET", "calculations")).calculations,
    submit: async (request) => {
      checkNesting({ name: request.calculation }, request.params);
      return submittedSchema.parse(await ask(local, "POST", "runs", { body: request }));
    },
    plan: async (request) => {
      checkNesting({ name: request.calculation }, request.params);
      const options = { body: request, waitMs: planAnswerMs };
      return planSchema.parse(await ask(local, "POST", "plan", options)) as unknown as RunEstimate;
    },
  };
}

const text = z.string();
/** Passed on as it is; an instance of another version may say more or less. */
const planSchema = z.looseObject({ calculation: text, chunks: z.number(), dollars: z.number() });
const problemSchema = z.object({ code: text, detail: text, field: text.optional() });

/** The answer of the first instance that responds; one that is down gets neither key nor request. */
async function ask(
  local: LocalFile,
  method: string,
  path: string,
  { body, waitMs = answerMs }: { readonly body?: unknown; readonly waitMs?: number } = {},
): Promise<unknown> {
  const why: string[] = [];
  for (const { name, httpUrl, down } of local.instances) {
    if (down !== undefined) why.push(`${name} is down: ${down.reason}`);
    if (httpUrl === undefined || down !== undefined) continue;
    const answer = await fetch(`${httpUrl}/api/${path}`, {
      method,
      headers: { "x-functions-key": local.functionKey, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(waitMs),
    }).catch((error: unknown) => {
      why.push(`${name}: ${messageOf(error)}`);
    });
    if (answer === undefined) continue;
    const value: unknown = await answer.json().catch(() => undefined);
    // It ended after the state was written, and nobody has served the request.
    const isDown = answer.status === 503 && problemSchema.safeParse(value).data?.code === instanceDown;
    if (!isDown) return bodyOf(answer, value);
    why.push(`${name} is down`);
  }
  throw new StorageError("busy", "", undefined, `no instance answers (${why.join("; ")})`);
}

function bodyOf(answer: Response, value: unknown): unknown {
  if (answer.ok) return value;
  const problem = problemSchema.safeParse(value);
  if (!problem.success || answer.status >= 500) {
    const why = problem.data?.detail ?? `status ${answer.status}`;
    throw new StorageError("busy", "", answer.status, `an instance failed: ${why}`);
  }
  const { code, detail, field } = problem.data;
  const kind = answer.status === 409 ? "conflict" : "invalid";
  throw new InputError(kind, code, detail, field === undefined ? {} : { field });
}
