import { connectStorage } from "../../azure/connectStorage.ts";
import type { LocalWorker } from "../../engine/leader/perform/localWork.ts";
import { Coordinator } from "../../engine/leader/tick.ts";
import { version } from "../../engine/model/settings.ts";
import { createOnDemand } from "../../engine/storage/createOnDemand.ts";
import { systemClock as clock, systemRandom as random } from "../../engine/storage/system.ts";
import { log, logElection } from "./logTo.ts";
import type { Parts } from "./parts.ts";
import { settingsLog, sharedSettings } from "./sharedSettings.ts";

/** What races for the lease and leads in this process. */
export function coordinatorOf({ config, names, own, places }: Parts, worker: LocalWorker): Coordinator {
  const { settings, host, connection, holder, region, election, packLimitMs, appName } = config;
  const about = {
    ...(appName === undefined ? {} : { app: appName }),
    version,
    ...sharedSettings(settings, host, own),
  };
  return new Coordinator(
    {
      storage: createOnDemand(connectStorage(connection), places),
      names,
      clock,
      random,
      log,
      worker,
      endedQueue: settings.LEASEFOLD_ENDED_QUEUE,
      maxCost: settings.LEASEFOLD_MAX_COST,
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
  );
}
