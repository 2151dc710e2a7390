import { randomInt } from "node:crypto";
import { countOf } from "../../../src/engine/model/figures.ts";

interface EmbeddedEnvOptions {
  readonly instances: number;
  readonly index: number;
  /** Of this machine. */
  readonly cores: number;
  readonly calculations: readonly string[];
  readonly namespace?: string | undefined;
  readonly env?: Env;
}

/** The environment of one instance. */
type Env = Readonly<Record<string, string | undefined>>;

const queues = "AzureFunctionsJobHost__extensions__queues__";

/**
 * Settings of embedded instances that differ from `host.json` and the app's defaults: storage costs nothing here and
 * people watch, so leaders poll more often.
 */
export function embeddedEnv(options: EmbeddedEnvOptions): Env {
  const { instances, index, cores, calculations, namespace } = options;
  const threads = String(threadsPerInstance(cores, instances));
  return {
    // Every two seconds, but not all in the same one.
    LEASEFOLD_SCHEDULE: index % 2 === 0 ? "*/2 * * * * *" : "1-59/2 * * * * *",
    LEASEFOLD_LOOP_MS: "500",
    LEASEFOLD_LOOP_FAST_MS: "50",
    LEASEFOLD_WATCH: "true",
    [`${queues}maxPollingInterval`]: "00:00:00.5",
    [`${queues}visibilityTimeout`]: "00:00:01",
    [`${queues}batchSize`]: "1",
    // One message more than threads is fetched, so that a thread finds its next pack waiting.
    [`${queues}newBatchThreshold`]: threads,
    LEASEFOLD_THREADS: threads,
    LEASEFOLD_PLAN_WORKERS: localFleet(cores, instances).workersFrom,
    ...(calculations.length === 0 ? {} : { LEASEFOLD_CALCULATIONS: calculations.join(",") }),
    ...(namespace === undefined ? {} : { LEASEFOLD_NAMESPACE: namespace }),
    ...options.env,
  };
}

/**
 * The environment of an instance that works for an account from another machine. What `host.json` and the app's defaults say of
 * costs and waits holds for it too.
 */
export const memberEnv = ({ threads, lead, calculations, only, namespace }: MemberEnvOptions): Env => ({
  WEBSITE_SITE_NAME: "leasefold-work",
  LEASEFOLD_NAMESPACE: namespace,
  LEASEFOLD_THREADS: String(threads),
  [`${queues}newBatchThreshold`]: String(threads),
  // Each member races at seconds of its own, which costs little beside its polls of the queues.
  LEASEFOLD_SCHEDULE: `${randomInt(10)}/10 * * * * *`,
  ...Object.fromEntries(
    lead ? [] : ["coordinator", "wake"].map((one) => [`AzureWebJobs.${one}.Disabled`, "1"]),
  ),
  ...(calculations.length === 0 ? {} : { LEASEFOLD_CALCULATIONS: calculations.join(",") }),
  ...(only === undefined ? {} : { LEASEFOLD_ONLY: only.join(",") }),
});

interface MemberEnvOptions {
  readonly threads: number;
  readonly lead: boolean;
  readonly calculations: readonly string[];
  readonly only?: readonly string[] | undefined;
  readonly namespace: string;
}

/** What a plan takes to be computed at once: the threads of all instances together, and a text that says so. */
export function localFleet(cores: number, instances: number) {
  const workers = instances * threadsPerInstance(cores, instances);
  const workersFrom = `${countOf(workers, "thread")} of ${countOf(instances, "local instance")}`;
  return { workers, workersFrom };
}

/** All instances together have about as many threads as the machine has cores, but each has one. */
export const threadsPerInstance = (cores: number, instances: number): number =>
  Math.max(1, Math.round(cores / instances));

/** Not inherited from the shell, so that an embedded instance never works on a real account by accident. */
const storageSettings = /^(AzureWebJobs)?(AzureWebJobsStorage|DataStorage)(__.*)?$/i;

/**
 * For DuckDB's allocator. By default it keeps freed memory for a second and in each thread that has run a statement, and a reader
 * of JSON takes 40 MB: clearing new pages for each chunk may take as long as reading it.
 */
export const duckMemory = { DUCKDB_JE_MALLOC_CONF: "narenas:1,dirty_decay_ms:30000,muzzy_decay_ms:30000" };

/** `given` overrides everything; the rest is what the Functions host would set. */
export function instanceEnv(inherited: Env, name: string, storage: Env, given: Env): Env {
  const kept = Object.entries(inherited).filter(([setting]) => !storageSettings.test(setting));
  return {
    ...Object.fromEntries(kept),
    FUNCTIONS_WORKER_RUNTIME: "node",
    AZURE_FUNCTIONS_ENVIRONMENT: "Development",
    ...storage,
    // Host ids are 1 to 32 lower-case letters, digits and single dashes; one each, or their timers would share a lock.
    AzureFunctionsWebHost__hostid: `leasefold-${name}`,
    // All instances are one app.
    WEBSITE_SITE_NAME: "leasefold-up",
    LEASEFOLD_INSTANCE: name,
    // By default glibc keeps up to 64 MB freed at the ends of a dozen heaps. Thresholds that are too low release
    // the memory of each piece of a file, and the pages of the next one are cleared.
    MALLOC_ARENA_MAX: "1",
    MALLOC_TRIM_THRESHOLD_: "4194304",
    MALLOC_MMAP_THRESHOLD_: "33554432",
    ...duckMemory,
    ...given,
  };
}

/**
 * The settings of an instance in two parts: those that a process may be started with, and those that hold the key of its
 * storage, which it gets when it runs.
 */
export function withoutSecrets(env: Env): { readonly env: Env; readonly secrets: Record<string, string> } {
  const all = Object.entries(env);
  const secrets = all.filter(
    (one): one is [string, string] => one[1] !== undefined && storageSettings.test(one[0]),
  );
  return {
    env: Object.fromEntries(all.filter(([setting]) => !storageSettings.test(setting))),
    secrets: Object.fromEntries(secrets),
  };
}

export const instanceName = (index: number): string => `node-${index + 1}`;
