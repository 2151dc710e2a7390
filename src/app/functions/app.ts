import { connectStorage } from "../../azure/connectStorage.ts";
import { loadCalculations } from "../../calculations/registry.ts";
import type { AnyCalculation } from "../../engine/calculation/contract.ts";
import { describeCalculations } from "../../engine/client/describeCalculations.ts";
import { planWithin } from "../../engine/client/estimate/planInThread.ts";
import { planWorkers } from "../../engine/client/estimate/planWorkers.ts";
import { submit } from "../../engine/client/submit.ts";
import { Coordinator } from "../../engine/leader/tick.ts";
import { ConfigError, messageOf } from "../../engine/model/errors.ts";
import { limits } from "../../engine/model/limits.ts";
import { logEvents } from "../../engine/model/log.ts";
import { containersOf, namesOf, queuesOf } from "../../engine/model/names.ts";
import { version } from "../../engine/model/settings.ts";
import { createOnDemand } from "../../engine/storage/createOnDemand.ts";
import { systemClock as clock, systemRandom as random } from "../../engine/storage/system.ts";
import { allowedFiles, blobFiles } from "../../engine/worker/blobFiles.ts";
import type { WorkerPorts } from "../../engine/worker/ports.ts";
import { processState } from "../../engine/worker/processState.ts";
import type { ApiPorts } from "../api/apiRequest.ts";
import { threadPool } from "../threadPool.ts";
import { callerOf } from "./callerOf.ts";
import { log, logElection } from "./logTo.ts";
import { settingsLog, sharedSettings } from "./sharedSettings.ts";
import type { StartupConfig } from "./startupConfig.ts";

/**
 * The parts of one process of the app. Leader, worker and client have a storage each, so that their calls are counted
 * separately. Making an app makes no storage call and starts no thread, because each tick may run in a new process.
 */
export interface App {
  readonly coordinator: Coordinator;
  readonly worker: WorkerPorts;
  readonly api: ApiPorts;
}

export async function makeApp(config: StartupConfig, builtIn: readonly AnyCalculation[]): Promise<App> {
  const { settings, host, connection, packLimitMs, holder, region, election, files, appName } = config;
  const names = namesOf(settings.LEASEFOLD_NAMESPACE);
  const calculations = await loadCalculations(files, builtIn);
  // Built-in calculations belong to the app's version, which may differ during a deployment.
  const own = calculations
    .list()
    .filter((one) => !builtIn.includes(one))
    .map(({ name }) => calculations.versionOf(name));
  const { LEASEFOLD_ONLY: only } = settings;
  const unknown = only?.find((name) => calculations.list().every((one) => one.name !== name));
  if (unknown !== undefined)
    throw new ConfigError("bad-setting", `LEASEFOLD_ONLY: this app has no calculation ${unknown}`);
  const about = {
    ...(appName === undefined ? {} : { app: appName }),
    version,
    ...sharedSettings(settings, host, own),
  };
  const { LEASEFOLD_ENDED_QUEUE: endedQueue } = settings;
  const queues = [...queuesOf(names), ...(endedQueue === undefined ? [] : [endedQueue])];
  const places = { containers: containersOf(names), queues };
  const forLeader = createOnDemand(connectStorage(connection), places);
  const forWorker = createOnDemand(connectStorage(connection), places);
  const sources = [names.inputs, ...(settings.LEASEFOLD_SOURCES ?? [])];
  const threads = {
    memoryMb: settings.LEASEFOLD_THREAD_MEMORY_MB,
    files,
    versionOf: calculations.versionOf,
    onIdleCrash: (error: unknown) =>
      log(logEvents.unexpected({ where: "idle thread", message: messageOf(error) })),
  };
  const threadCount = settings.LEASEFOLD_THREADS ?? host.queues.batchSize + host.queues.newBatchThreshold;
  const userCode = threadPool({
    ...threads,
    threads: threadCount,
    access: allowedFiles(blobFiles(forWorker.blobs), sources),
  });
  const client = { storage: connectStorage(connection), names, clock, random, calculations };
  return {
    api: {
      client,
      log,
      resultLinks: settings.LEASEFOLD_RESULT_LINKS,
      calculations: async () => describeCalculations(calculations),
      submit: (request, by) => submit({ ...client, ...by }, request),
      actorOf: callerOf(process.env),
      plan: planWithin(() => ({
        calculations,
        clock,
        settings,
        planWorkers: () => planWorkers(settings, async () => client),
        access: allowedFiles(blobFiles(client.storage.blobs), sources),
        startThread: async (access) => threadPool({ ...threads, threads: 1, access }),
      })),
    },
    coordinator: new Coordinator(
      {
        storage: forLeader,
        names,
        clock,
        random,
        log,
        endedQueue,
        onElection: logElection,
        onPoll: settingsLog(log, about),
      },
      {
        holder,
        region,
        about,
        election,
        packLimitMs,
        keepDays: settings.LEASEFOLD_KEEP_DAYS,
        loop: { loopMs: settings.LEASEFOLD_LOOP_MS, fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS },
      },
    ),
    worker: {
      storage: forWorker,
      names,
      clock,
      random,
      log,
      userCode,
      packLimitMs,
      tree: limits,
      only: only && new Set(only),
      versionOf: calculations.versionOf,
      checkParams: (name, params) => void calculations.parseParams(calculations.get(name), params),
      foldBytesMax: limits.foldBytesMax,
      // An attempt at its time limit must be recorded before the host kills the process.
      endRetryMs: Math.min(limits.endRetryMs, host.functionTimeoutMs / 8),
      ...processState(
        { storage: forWorker, names, clock, random },
        {
          instance: holder,
          instanceMb: settings.LEASEFOLD_INSTANCE_MEMORY_MB,
          threads: threadCount,
          version,
          codes: own,
          memoryMb: () => process.memoryUsage.rss() / 1e6,
        },
      ),
    },
  };
}
