import { addCalls, type CallCounts, noCalls } from "../../model/calls.ts";
import { ConfigError } from "../../model/errors.ts";
import type { Storage } from "../../storage/ports.ts";

export interface Storages {
  /** The storage behind the `connection` of a binding. Throws `ConfigError` where its setting is missing. */
  open(connection: string, functionName: string): Storage;
  /** All calls made through these storages so far. */
  calls(): CallCounts;
}

/** One storage for each connection, however many functions use it. */
export function makeStorages(
  env: Readonly<Record<string, string | undefined>>,
  connect: (connectionString: string) => Storage,
): Storages {
  const opened = new Map<string, Storage>();
  return {
    open(connection, functionName) {
      const value = env[connection] ?? env[`AzureWebJobs${connection}`];
      if (!value) {
        throw new ConfigError(
          "missing-setting",
          `function ${functionName}: the setting ${connection} is missing; embedded instances need a connection string`,
        );
      }
      const storage = opened.get(value) ?? connect(value);
      opened.set(value, storage);
      return storage;
    },
    calls: () => [...opened.values()].reduce((sum, one) => addCalls(sum, one.meter.counts()), noCalls),
  };
}
