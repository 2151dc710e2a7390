import { availableParallelism } from "node:os";
import { checkNesting } from "../../src/engine/calculation/params.ts";
import { clientLimits } from "../../src/engine/client/client.ts";
import type { PlanWorkers } from "../../src/engine/client/estimate/planWorkers.ts";
import { InputError, messageOf, StorageError } from "../../src/engine/model/errors.ts";
import { userHeader } from "../../src/engine/model/labels.ts";
import { clientOf, type Leasefold } from "../client/leasefoldClient.ts";
import { ApiError, type Ask, asker, errorOf } from "../client/request.ts";
import { userName } from "./actor.ts";
import { type ConnectOptions, namespaceOf, namesStorage, type Surroundings } from "./connect.ts";
import { localFleet } from "./local/instanceEnv.ts";
import { instanceDown } from "./local/instancePort.ts";
import { findLocalFile, type LocalFile } from "./local/localFile.ts";

/**
 * The HTTP API of the local instances in this folder or above. They know the user's calculations; this process loads
 * only files that its own user names.
 */
export interface InstanceApi extends Pick<Leasefold, "calculations" | "plan" | "submit" | "schedules"> {
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
  const ask = asker({
    ...{ url: anyInstance, fetch: firstOf(local) },
    proof: () => ({
      "x-functions-key": local.functionKey,
      [userHeader]: encodeURIComponent(userName()),
    }),
  });
  return {
    ...clientOf(checked(ask)),
    watch: local.watch,
    fleet: localFleet(availableParallelism(), local.instances.length),
  };
}

const anyInstance = "http://127.0.0.1/api/";

/** `fetch` of the first instance that responds; one that is down gets neither key nor request. */
const firstOf =
  (local: LocalFile): typeof fetch =>
  async (input, init) => {
    const path = String(input).slice(anyInstance.length);
    const why: string[] = [];
    for (const { name, httpUrl, down } of local.instances) {
      if (down !== undefined) why.push(`${name} is down: ${down.reason}`);
      if (httpUrl === undefined || down !== undefined) continue;
      const signal = AbortSignal.timeout(path === "plan" ? planAnswerMs : answerMs);
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

/**
 * Throws what a command tells, and not the client's own errors. Parameters that nest too deep are refused before they are written
 * as JSON, which recurses.
 */
export const checked =
  (ask: Ask): Ask =>
  async (path, asked) => {
    const { run, calculation, params } = Object(asked?.body);
    checkNesting({ name: calculation ?? run?.calculation }, params ?? run?.params);
    return await ask(path, asked).catch(refuse);
  };
