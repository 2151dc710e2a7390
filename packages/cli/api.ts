import { availableParallelism } from "node:os";
import { apiFunctions } from "../../src/app/api/apiFunctions.ts";
import type { ApiPorts } from "../../src/app/api/apiRequest.ts";
import type { FileAccess } from "../../src/engine/calculation/files.ts";
import { checkNesting } from "../../src/engine/calculation/params.ts";
import { type Client, clientLimits } from "../../src/engine/client/client.ts";
import { describeCalculations } from "../../src/engine/client/describeCalculations.ts";
import { planWithin } from "../../src/engine/client/estimate/planInThread.ts";
import { type PlanWorkers, planWorkers } from "../../src/engine/client/estimate/planWorkers.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { InputError, messageOf, StorageError } from "../../src/engine/model/errors.ts";
import { userHeader } from "../../src/engine/model/labels.ts";
import { readSettings, version } from "../../src/engine/model/settings.ts";
import type { Clock } from "../../src/engine/storage/ports.ts";
import type { UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { clientOf, type Leasefold } from "../client/leasefoldClient.ts";
import { ApiError, type Ask, addressOf, asker, errorOf } from "../client/request.ts";
import { userName } from "./actor.ts";
import { type ConnectOptions, clientFiles, namespaceOf, namesStorage, type Surroundings } from "./connect.ts";
import { localFleet } from "./local/instanceEnv.ts";
import { instanceDown } from "./local/instancePort.ts";
import { findLocalFile, type LocalFile } from "./local/localFile.ts";

/**
 * How a command asks: by the client of `packages/client`, whose requests go to the routes of the API in this process
 * (`session.api()`) or over HTTP to the local instances (`session.instances()`). Both throw the errors of the engine, which the
 * command line prints. `session.storage()` lists the few commands that need the storage itself.
 */

/** What is used of the `Session`, which imports this file. */
interface Asking {
  readonly cli: Pick<Surroundings, "env"> & {
    readonly clock: Clock;
    startThread(access: FileAccess): Promise<UserCode>;
  };
  instances(): Promise<Pick<InstanceApi, "fleet"> | undefined>;
  storage(): Promise<Client>;
}

/** What the app gives its handlers, with the calculations of this process alone. */
export function portsOf(session: Asking, client: Client): ApiPorts {
  const { cli } = session;
  const { calculations } = client;
  return {
    client,
    log: () => undefined,
    // They are signed for the person who asks, and say no more than that person may read.
    resultLinks: true,
    calculations: async () => describeCalculations(calculations),
    submit: (request) => submit(client, request),
    plan: planWithin(() => ({
      calculations,
      clock: cli.clock,
      settings: readSettings(cli.env),
      planWorkers: () => workersHere(session),
      access: clientFiles(async () => client, cli.env),
      startThread: (access) => cli.startThread(access),
    })),
  };
}

/** The threads that would compute a run, where they run on this machine; else as the app counts them. */
export async function workersHere(session: Asking): Promise<PlanWorkers> {
  const local = await session.instances().catch(() => undefined);
  return local?.fleet ?? (await planWorkers(readSettings(session.cli.env), () => session.storage()));
}

/** The address that requests are written for; none is sent there. */
const base = "http://127.0.0.1/api/";
const silent = { warn: () => undefined, error: () => undefined };
const facts = { version, instance: () => "leasefold", lastTickAgeMs: () => undefined, readOnly: () => false };

/** `leasefold/client` over these ports, without a socket. It throws what a route throws, and not the problem that HTTP tells of it. */
export function apiHere(ports: ApiPorts): Leasefold {
  const fail = (error: unknown): never => {
    throw error;
  };
  const functions = apiFunctions({ readOnly: () => false, ports: () => ports, fail }, facts);
  return clientOf(
    checked(async (path, { method = "GET", body, bytes, headers = {} } = {}) => {
      const url = addressOf(path, base);
      const [segment = "", ...rest] = url.pathname.slice("/api/".length).split("/").map(decodeURIComponent);
      const target = functions.find(({ route }) => route === `${segment}/{*rest}`);
      const type = bytes === undefined ? "application/json" : "application/octet-stream";
      const content = new Response(bytes ?? (body === undefined ? "" : JSON.stringify(body)));
      const answer = await target?.handle(
        {
          ...{ method, url: url.href, query: url.searchParams, params: { rest: rest.join("/") } },
          headers: new Headers({ "content-type": type, ...headers }),
          arrayBuffer: () => content.arrayBuffer(),
        },
        silent,
      );
      const { status = 404, jsonBody, body: given } = answer ?? {};
      const sent = jsonBody === undefined ? given : JSON.stringify(jsonBody);
      const response = new Response(typeof sent === "object" ? new Uint8Array(sent) : sent, {
        ...{ status, headers: answer?.headers ?? {} },
      });
      // What a route throws was thrown; a path of no route, or a method that it does not have, is only answered.
      if (response.ok || status === 304) return response;
      throw await errorOf(response);
    }),
  );
}

/**
 * The HTTP API of the local instances in this folder or above. They know the user's calculations; this process loads
 * only files that its own user names.
 */
export interface InstanceApi extends Leasefold {
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
    ...{ url: base, fetch: firstOf(local) },
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

/** `fetch` of the first instance that responds; one that is down gets neither key nor request. */
const firstOf =
  (local: LocalFile): typeof fetch =>
  async (input, init) => {
    const path = String(input).slice(base.length);
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
const checked =
  (ask: Ask): Ask =>
  async (path, asked) => {
    const { run, calculation, params } = Object(asked?.body);
    checkNesting({ name: calculation ?? run?.calculation }, params ?? run?.params);
    return await ask(path, asked).catch(refuse);
  };
