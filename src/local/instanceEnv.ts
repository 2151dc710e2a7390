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
