/**
 * Settings of embedded instances where they differ from `host.json` and the app's defaults: here storage costs
 * nothing and people watch, so everything looks more often.
 */
export interface EmbeddedEnvOptions {
  readonly instances: number;
  readonly index: number;
  /** Of this machine. */
  readonly cores: number;
  readonly calculations: readonly string[];
  readonly namespace?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const queues = "AzureFunctionsJobHost__extensions__queues__";

export function embeddedEnv(options: EmbeddedEnvOptions): Readonly<Record<string, string | undefined>> {
  const { instances, index, cores, calculations, namespace } = options;
  return {
    // Every two seconds, but not all in the same one.
    LEASEFOLD_SCHEDULE: index % 2 === 0 ? "*/2 * * * * *" : "1-59/2 * * * * *",
    LEASEFOLD_LOOP_MS: "500",
    LEASEFOLD_LOOP_FAST_MS: "100",
    LEASEFOLD_WATCH: "true",
    [`${queues}maxPollingInterval`]: pollingInterval,
    [`${queues}visibilityTimeout`]: "00:00:01",
    [`${queues}batchSize`]: "1",
    // One message more than threads is fetched, so that a thread finds its next pack waiting.
    [`${queues}newBatchThreshold`]: String(threadsPerInstance(cores, instances)),
    LEASEFOLD_THREADS: String(threadsPerInstance(cores, instances)),
    ...(calculations.length === 0 ? {} : { LEASEFOLD_CALCULATIONS: calculations.join(",") }),
    ...(namespace === undefined ? {} : { LEASEFOLD_NAMESPACE: namespace }),
    ...options.env,
  };
}

const pollingInterval = "00:00:00.500";

/** All instances together have about as many threads as the machine has cores, but each has one. */
export const threadsPerInstance = (cores: number, instances: number): number =>
  Math.max(1, Math.round(cores / instances));

/** The environment of one instance. */
type Env = Readonly<Record<string, string | undefined>>;

/**
 * Nothing about storage is inherited from the shell: an embedded instance works on the storage it is given, and
 * never by accident on a real account.
 */
const storageSettings = /^(AzureWebJobs)?(AzureWebJobsStorage|DataStorage)(__.*)?$/i;

/** Not an argument, which every user of the machine can read. */
export const functionKeySetting = "LEASEFOLD_LOCAL_FUNCTION_KEY";

/** `given` wins over everything; the rest is what the Functions host would set. */
export function instanceEnv(inherited: Env, name: string, connectionString: string, given: Env): Env {
  const kept = Object.entries(inherited).filter(([setting]) => !storageSettings.test(setting));
  return {
    ...Object.fromEntries(kept),
    FUNCTIONS_WORKER_RUNTIME: "node",
    AZURE_FUNCTIONS_ENVIRONMENT: "Development",
    AzureWebJobsStorage: connectionString,
    DataStorage: connectionString,
    // Host ids are 1 to 32 lower-case letters, digits and single dashes; one each, or their timers would share a lock.
    AzureFunctionsWebHost__hostid: `leasefold-${name}`,
    LEASEFOLD_INSTANCE: name,
    ...given,
  };
}

const numerals = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** `one`, `two`, … `ten`, `instance-11`. */
export const instanceName = (index: number): string => numerals[index] ?? `instance-${index + 1}`;
