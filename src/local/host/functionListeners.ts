import { addCalls, type CallCounts, noCalls } from "../../model/calls.ts";
import { ConfigError } from "../../model/errors.ts";
import type { HostSettings } from "../../model/hostSettings.ts";
import type { Clock, Random, Storage } from "../../storage/ports.ts";
import type { Binding, RegisteredFunction } from "./coreModule.ts";
import type { HostLog } from "./hostLog.ts";
import type { HttpListener, HttpPort } from "./httpServer.ts";
import { startHttp } from "./httpTrigger.ts";
import type { Invoker } from "./invoker.ts";
import { hostQueueTimings, triggerMetadata } from "./queueDelivery.ts";
import { type QueueTriggerOptions, startQueueListener } from "./queueTrigger.ts";
import { type Listener, parseSchedule, startTimer } from "./timerTrigger.ts";

/** What the listeners of one instance share. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: HostSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly invoker: Invoker;
  readonly storages: ReturnType<typeof makeStorages>;
  readonly log: HostLog;
  /** The key of HTTP functions that are not anonymous. */
  readonly functionKey: string;
}

/**
 * A function that starts the listener of a timer or queue function; undefined for any other. Throws `ConfigError` for a
 * wrong binding, before anything runs.
 */
export function listenerOf(one: RegisteredFunction, around: Surroundings): (() => Listener) | undefined {
  const binding = triggerOf(one)[1];
  warnOfBindings(one, around.log);
  switch (binding.type.toLowerCase()) {
    case "timertrigger":
      return timerListener(one, around);
    case "queuetrigger":
      return queueListener(one, around);
    case "httptrigger":
      return undefined;
    default:
      around.log.unsupportedTrigger(one.metadata.name, binding.type);
      return undefined;
  }
}

/** One server for all HTTP functions; undefined where there are none. */
export async function startHttpFunctions(
  functions: readonly RegisteredFunction[],
  port: HttpPort,
  { settings, invoker, log, functionKey }: Surroundings,
): Promise<HttpListener | undefined> {
  const served = functions.filter((one) => triggerOf(one)[1].type.toLowerCase() === "httptrigger");
  if (served.length === 0) return undefined;
  const routes = served.map((one) => {
    const { methods, route } = triggerOf(one)[1];
    return {
      methods: Array.isArray(methods) ? methods.map(String) : ["GET", "POST"],
      template: typeof route === "string" ? route : one.metadata.name,
      target: one,
    };
  });
  return startHttp({
    ...{ port, routes, log, key: functionKey },
    routePrefix: settings.http.routePrefix,
    isAnonymous: (target) => triggerOf(target)[1]["authLevel"] === "anonymous",
    invoke: (target, http) =>
      invoker.invoke(target, { inputData: [{ name: triggerOf(target)[0], data: { http } }] }),
  });
}

function timerListener(one: RegisteredFunction, { env, clock, invoker }: Surroundings): () => Listener {
  const [input, binding] = triggerOf(one);
  const text = bindingText(binding, "schedule", one.metadata.name, env);
  const schedule = parseSchedule(text);
  return () =>
    startTimer({
      ...{ schedule, clock },
      invoke: (data) => invoker.invoke(one, { inputData: [{ name: input, data }] }),
    });
}

function queueListener(one: RegisteredFunction, around: Surroundings): () => Listener {
  const { env, settings, clock, random, invoker, storages, log } = around;
  const { name: functionName } = one.metadata;
  const [input, binding] = triggerOf(one);
  const text = (option: string) => bindingText(binding, option, functionName, env);
  const { messageEncoding: encoding, ...limits } = settings.queues;
  const options: QueueTriggerOptions = {
    ...{ ...limits, encoding, timings: hostQueueTimings, clock, random, log },
    queue: text("queueName"),
    queues: storages.open(text("connection"), functionName).queues,
    async invoke(message, body) {
      const nowMs = clock.wallMs();
      const hiddenUntilMs = nowMs + hostQueueTimings.hiddenS * 1_000;
      const metadata = triggerMetadata({ message, body, functionName, nowMs, hiddenUntilMs, random });
      const inputData = [{ name: input, data: { string: body } }];
      const outcome = await invoker.invoke(one, { inputData, triggerMetadata: metadata });
      return outcome.kind === "succeeded";
    },
  };
  return () => startQueueListener(options);
}

function triggerOf(one: RegisteredFunction): readonly [name: string, binding: Binding] {
  const trigger = Object.entries(one.metadata.bindings).find(([, { type }]) => /trigger$/i.test(type));
  if (trigger) return trigger;
  throw new ConfigError("bad-binding", `function ${one.metadata.name} has no trigger`);
}

function warnOfBindings(one: RegisteredFunction, log: HostLog): void {
  for (const { type } of Object.values(one.metadata.bindings)) {
    const known = /trigger$/i.test(type) || type.toLowerCase() === "http";
    if (!known) log.unsupportedBinding(one.metadata.name, type);
  }
}

/** A text of a binding with each `%SETTING%` replaced, as the host does. Throws `ConfigError` for a missing setting. */
export function bindingText(
  binding: Readonly<Record<string, unknown>>,
  option: string,
  functionName: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const given = binding[option];
  if (typeof given !== "string" || given === "") {
    throw new ConfigError("bad-binding", `function ${functionName}: ${option} is missing`);
  }
  return given.replace(/%([^%]+)%/g, (_match, name: string) => {
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    const text = `function ${functionName}: ${option} is "${given}", but the setting ${name} is missing`;
    throw new ConfigError("missing-setting", text);
  });
}

/** One storage for each connection, however many functions use it. */
export function makeStorages(
  env: Readonly<Record<string, string | undefined>>,
  connect: (connectionString: string) => Storage,
) {
  const opened = new Map<string, Storage>();
  return {
    /** The storage behind the `connection` of a binding. Throws `ConfigError` where its setting is missing. */
    open(connection: string, functionName: string): Storage {
      const value = env[connection] ?? env[`AzureWebJobs${connection}`];
      if (!value) {
        const text = `function ${functionName}: the setting ${connection} is missing; embedded instances need a connection string`;
        throw new ConfigError("missing-setting", text);
      }
      const storage = opened.get(value) ?? connect(value);
      opened.set(value, storage);
      return storage;
    },
    /** All calls made through these storages so far. */
    calls: (): CallCounts =>
      [...opened.values()].reduce((sum, one) => addCalls(sum, one.meter.counts()), noCalls),
  };
}
