import { loadCalculations } from "../../calculations/registry.ts";
import type { AnyCalculation } from "../../engine/calculation/contract.ts";
import { ConfigError, messageOf } from "../../engine/model/errors.ts";
import { logEvents } from "../../engine/model/log.ts";
import { containersOf, namesOf, queuesOf } from "../../engine/model/names.ts";
import { log } from "./logTo.ts";
import type { StartupConfig } from "./startupConfig.ts";

/** What leader, worker and client are made of. */
export type Parts = Awaited<ReturnType<typeof partsOf>>;

export async function partsOf(config: StartupConfig, builtIn: readonly AnyCalculation[]) {
  const { settings, host, files } = config;
  const names = namesOf(settings.LEASEFOLD_NAMESPACE);
  const calculations = await loadCalculations(files, builtIn);
  const { LEASEFOLD_ONLY: only, LEASEFOLD_ENDED_QUEUE: endedQueue } = settings;
  const unknown = only?.find((name) => calculations.list().every((one) => one.name !== name));
  if (unknown !== undefined)
    throw new ConfigError("bad-setting", `LEASEFOLD_ONLY: this app has no calculation ${unknown}`);
  return {
    config,
    names,
    calculations,
    /** Identities of the user's calculations: built-in ones belong to the app's version, which may differ during a deployment. */
    own: calculations
      .list()
      .filter((one) => !builtIn.includes(one))
      .map(({ name }) => calculations.versionOf(name)),
    /** What a call may find missing, and makes. */
    places: {
      containers: containersOf(names),
      queues: [...queuesOf(names), ...(endedQueue === undefined ? [] : [endedQueue])],
    },
    /** Containers whose files calculations may read. */
    sources: [names.inputs, ...(settings.LEASEFOLD_SOURCES ?? [])],
    threads: {
      memoryMb: settings.LEASEFOLD_THREAD_MEMORY_MB,
      files,
      versionOf: calculations.versionOf,
      onIdleCrash: (error: unknown) =>
        log(logEvents.unexpected({ where: "idle thread", message: messageOf(error) })),
    },
    threadCount: settings.LEASEFOLD_THREADS ?? host.queues.batchSize + host.queues.newBatchThreshold,
  };
}
