import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import { loadCalculations } from "../calculations/registry.ts";
import type { Client } from "../client/client.ts";
import { ensurePlaces } from "../client/places.ts";
import { type Coordinator, coordinator } from "../coordinator/tick.ts";
import { ConfigError, messageOf } from "../model/errors.ts";
import { type HostSettings, readHostSettings } from "../model/hostSettings.ts";
import { logEvents } from "../model/log.ts";
import { namesOf } from "../model/names.ts";
import { readSettings, type Settings } from "../model/settings.ts";
import { connectStorage } from "../storage/connectStorage.ts";
import { dataStorageFrom } from "../storage/dataStorage.ts";
import { systemClock as clock, systemRandom as random } from "../storage/system.ts";
import { callReport } from "../worker/callReport.ts";
import { documents } from "../worker/documents.ts";
import { markerWatch } from "../worker/markerWatch.ts";
import type { WorkerPorts } from "../worker/ports.ts";
import { threadPool } from "../worker/threadPool.ts";
import { electionFrom } from "./electionFrom.ts";
import { electionLog } from "./electionLog.ts";
import { log } from "./logTo.ts";

/**
 * The composition of one process of the app: settings, storage, and the actors on it. Leader, worker and client
 * have a storage each, so that their calls are counted apart.
 */
export interface App {
  readonly host: HostSettings;
  readonly coordinator: Coordinator;
  readonly worker: WorkerPorts;
  readonly client: Client;
  /** Makes containers and queues where they are missing; once per process, and again after a failure. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

export async function makeApp(env: Env, settings: Settings, appDir: string): Promise<App> {
  const host = readHostSettings(readFileSync(join(appDir, "host.json"), "utf8"), env);
  const connection = dataStorageFrom(env);
  const names = namesOf(settings.LEASEFOLD_NAMESPACE);
  const files = filesOf(settings.LEASEFOLD_CALCULATIONS, appDir);
  const calculations = await loadCalculations(files);

  const packLimitMs = packLimitOf(settings, host);
  const forLeader = connectStorage(connection);
  const forWorker = connectStorage(connection);
  const client: Client = { storage: connectStorage(connection), names, clock, random, calculations };
  const userCode = threadPool({
    threads: settings.LEASEFOLD_THREADS ?? host.queues.batchSize + host.queues.newBatchThreshold,
    memoryMb: settings.LEASEFOLD_THREAD_MEMORY_MB,
    files,
    onIdleCrash: (error) => log(logEvents.unexpected({ where: "idle thread", message: messageOf(error) })),
  });
  let making: Promise<void> | undefined;
  return {
    host,
    client,
    coordinator: coordinator(
      { storage: forLeader, names, clock, random, log, onElection: electionLog(log) },
      {
        holder: holderOf(settings, env),
        region: settings.LEASEFOLD_REGION ?? env["REGION_NAME"],
        election: electionFrom(settings, host),
        packLimitMs,
        loop: { loopMs: settings.LEASEFOLD_LOOP_MS, fastLoopMs: settings.LEASEFOLD_LOOP_FAST_MS },
      },
    ),
    worker: {
      ...{ storage: forWorker, names, clock, random, log, userCode },
      documents: documents(forWorker.blobs, names),
      watch: markerWatch(forWorker.blobs, names, clock),
      report: callReport(forWorker.meter),
      packLimitMs,
    },
    async ready() {
      making ??= ensurePlaces({ storage: forLeader, names });
      try {
        await making;
      } catch (error) {
        making = undefined;
        throw error;
      }
    },
    stop: () => userCode.stop(),
  };
}

/** The settings of the process, read before anything is registered: they name queues and the schedule. */
export const settingsOf = (env: Env): Settings => readSettings(env);

/** An attempt must end, and its record be written, before the host kills the whole process with it. */
function packLimitOf({ LEASEFOLD_PACK_LIMIT_S }: Settings, host: HostSettings): number {
  const packLimitMs = LEASEFOLD_PACK_LIMIT_S * 1_000;
  if (packLimitMs <= host.functionTimeoutMs / 2) return packLimitMs;
  const timeoutS = host.functionTimeoutMs / 1_000;
  throw new ConfigError(
    "bad-setting",
    `LEASEFOLD_PACK_LIMIT_S=${LEASEFOLD_PACK_LIMIT_S}: must be at most half of functionTimeout (${timeoutS} s)`,
  );
}

const holderOf = (settings: Settings, env: Env): string =>
  settings.LEASEFOLD_INSTANCE ?? env["WEBSITE_INSTANCE_ID"]?.slice(0, 12) ?? `${hostname()}-${process.pid}`;

function filesOf(list: string | undefined, appDir: string): string[] {
  const files = (list ?? "").split(",").map((file) => file.trim());
  return files.filter((file) => file !== "").map((file) => (isAbsolute(file) ? file : join(appDir, file)));
}
