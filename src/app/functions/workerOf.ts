import { connectStorage } from "../../azure/connectStorage.ts";
import { limits } from "../../engine/model/limits.ts";
import { version } from "../../engine/model/settings.ts";
import { createOnDemand } from "../../engine/storage/createOnDemand.ts";
import { systemClock as clock, systemRandom as random } from "../../engine/storage/system.ts";
import { allowedFiles, blobFiles } from "../../engine/worker/blobFiles.ts";
import type { WorkerPorts } from "../../engine/worker/ports.ts";
import { processState } from "../../engine/worker/processState.ts";
import { threadPool } from "../threadPool.ts";
import { log } from "./logTo.ts";
import type { Parts } from "./parts.ts";

/** What does the work that messages of this process ask for. */
export function workerOf({ config, names, calculations, own, places, ...parts }: Parts): WorkerPorts {
  const { settings, host, connection, holder, packLimitMs } = config;
  const { sources, threads, threadCount } = parts;
  const { LEASEFOLD_ONLY: only } = settings;
  const storage = createOnDemand(connectStorage(connection), places);
  const access = allowedFiles(blobFiles(storage.blobs), sources);
  const about = {
    instance: holder,
    instanceMb: settings.LEASEFOLD_INSTANCE_MEMORY_MB,
    threads: threadCount,
    version,
    codes: own,
    memoryMb: () => process.memoryUsage.rss() / 1e6,
  };
  return {
    storage,
    names,
    clock,
    random,
    log,
    userCode: threadPool({ ...threads, threads: threadCount, access }),
    packLimitMs,
    tree: limits,
    only: only && new Set(only),
    versionOf: calculations.versionOf,
    checkParams: (name, params) => void calculations.parseParams(calculations.get(name), params),
    foldBytesMax: limits.foldBytesMax,
    // An attempt at its time limit must be recorded before the host kills the process.
    endRetryMs: Math.min(limits.endRetryMs, host.functionTimeoutMs / 8),
    ...processState({ storage, names, clock, random }, about),
  };
}
