import { ConfigError, messageOf } from "../engine/model/errors.ts";
import type { HostSettings } from "../engine/model/hostSettings.ts";
import type { Clock, Random, Storage } from "../engine/storage/ports.ts";
import type { Binding, HttpData, RegisteredFunction, TypedData } from "./coreModule.ts";
import type { HostLog } from "./hostLog.ts";
import {
  type HttpAnswer,
  type HttpIncoming,
  type HttpListener,
  type HttpPort,
  startHttpServer,
} from "./httpServer.ts";
import type { Invoker } from "./invoker.ts";
import { triggerMetadata } from "./queueDelivery.ts";
import { type QueueTriggerOptions, startQueueListener } from "./queueTrigger.ts";
import { type Listener, parseSchedule, startTimer, type TimerStore } from "./timerTrigger.ts";

/** What the listeners of one instance share. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: HostSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly invoker: Invoker;
  /** Of all queue functions, whatever connection they name: the app has one. */
  readonly storage: Storage;
  readonly log: HostLog;
  /** The key of HTTP functions that are not anonymous. */
  readonly functionKey: string;
  /** What instances share of a timer, as on Azure; without it each instance ticks. */
  readonly timers?: (functionName: string) => TimerStore;
}

/** Whether an application setting disables a function, as on Azure: its name takes `_` for `.`, and no `__`. */
export const isDisabled = (name: string, env: Surroundings["env"]): boolean =>
  [".", "_"].some((dot) => /^(true|1)$/i.test(env[["AzureWebJobs", name, "Disabled"].join(dot)] ?? ""));

/**
 * A function that starts the listener of a timer or queue function; undefined for an HTTP function. Throws `ConfigError`
 * for a wrong binding, before anything runs.
 */
export function listenerOf(one: RegisteredFunction, around: Surroundings): (() => Listener) | undefined {
  const { type } = triggerOf(one)[1];
  switch (type) {
    case "timerTrigger":
      return timerListener(one, around);
    case "queueTrigger":
      return queueListener(one, around);
    case "httpTrigger":
      return undefined;
    default:
      throw new ConfigError("bad-binding", `function ${one.metadata.name}: a ${type} does not work here`);
  }
}

/**
 * One server for all HTTP functions, which serves them as the Functions host does without `enableHttpStream`; cookies are
 * not sent. Undefined where there are none.
 */
export async function startHttpFunctions(
  functions: readonly RegisteredFunction[],
  port: HttpPort | undefined,
  around: Surroundings,
): Promise<HttpListener | undefined> {
  const { settings, invoker, log, functionKey } = around;
  const served = functions.filter((one) => triggerOf(one)[1].type === "httpTrigger");
  if (served.length === 0) return undefined;
  const routes = served.map((target) => {
    const { methods, route } = triggerOf(target)[1];
    return { methods: methods as string[], template: String(route ?? target.metadata.name), target };
  });
  return startHttpServer<RegisteredFunction>({
    port,
    routes,
    key: functionKey,
    routePrefix: settings.http.routePrefix,
    keyHint: '"leasefold show key" prints it',
    isAnonymous: (target) => triggerOf(target)[1]["authLevel"] === "anonymous",
    onFailure: ({ metadata }, error) => log.httpFailed(metadata.name, messageOf(error)),
    async serve(target, request) {
      const inputData = [{ name: triggerOf(target)[0], data: { http: httpData(request) } }];
      const response = await invoker.invoke(target, { inputData });
      return response === undefined ? { status: 500 } : answerOf(response.returnValue?.http);
    },
  });
}

const httpData = ({ method, url, headers, query, params, body }: HttpIncoming): HttpData => ({
  method,
  url,
  nullableHeaders: nullable(headers),
  nullableQuery: nullable(query),
  nullableParams: nullable(Object.entries(params)),
  ...(body.byteLength > 0 ? { body: { bytes: body } } : {}),
});

const nullable = (entries: HttpIncoming["query"]) =>
  Object.fromEntries(entries.map(([name, value]) => [name, { value }]));

/** A handler that returned nothing is answered 204, as the host does. */
function answerOf(http: HttpData | undefined): HttpAnswer {
  if (!http) return { status: 204 };
  return { status: Number(http.statusCode ?? 200), headers: { ...http.headers }, body: bodyBytes(http.body) };
}

function bodyBytes(body: TypedData | undefined): Uint8Array {
  if (body?.bytes) return body.bytes;
  return Buffer.from(body?.string ?? body?.json ?? "", "utf8");
}

function timerListener(one: RegisteredFunction, around: Surroundings): () => Listener {
  const { env, clock, invoker, timers } = around;
  const [input, binding] = triggerOf(one);
  const schedule = parseSchedule(bindingText(binding, "schedule", one.metadata.name, env));
  return () =>
    startTimer({
      schedule,
      clock,
      store: timers?.(one.metadata.name),
      monitor: binding["useMonitor"] !== false,
      invoke: (data) => invoker.invoke(one, { inputData: [{ name: input, data }] }),
    });
}

function queueListener(one: RegisteredFunction, around: Surroundings): () => Listener {
  const { env, settings, clock, random, invoker, storage, log } = around;
  const [input, binding] = triggerOf(one);
  const options: QueueTriggerOptions = {
    ...settings.queues,
    clock,
    random,
    log,
    onReceipt: (held) => invoker.renewed(held),
    queue: bindingText(binding, "queueName", one.metadata.name, env),
    queues: storage.queues,
    async invoke(message) {
      const inputData = [{ name: input, data: { string: message.text } }];
      const held = { queue: options.queue, id: message.id, receipt: message.popReceipt };
      const request = { inputData, triggerMetadata: triggerMetadata(message) };
      return (await invoker.invoke(one, request, held)) !== undefined;
    },
  };
  return () => startQueueListener(options);
}

function triggerOf(one: RegisteredFunction): readonly [name: string, binding: Binding] {
  const trigger = Object.entries(one.metadata.bindings).find(([, { type }]) => type.endsWith("Trigger"));
  if (trigger) return trigger;
  throw new ConfigError("bad-binding", `function ${one.metadata.name} has no trigger`);
}

/** A text of a binding with each `%SETTING%` replaced, as the host does. Throws `ConfigError` for a missing setting. */
export function bindingText(
  binding: Readonly<Record<string, unknown>>,
  option: string,
  functionName: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return String(binding[option]).replace(/%([^%]+)%/g, (_match, name: string) => {
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    const text = `function ${functionName}: ${option} is "${binding[option]}", but the setting ${name} is missing`;
    throw new ConfigError("missing-setting", text);
  });
}
