import { connectStorage } from "../../azure/connectStorage.ts";
import { describeCalculations } from "../../engine/client/describeCalculations.ts";
import { planWithin } from "../../engine/client/estimate/planInThread.ts";
import { planWorkers } from "../../engine/client/estimate/planWorkers.ts";
import { submit } from "../../engine/client/submit.ts";
import type { Coordinator } from "../../engine/leader/tick.ts";
import { systemClock as clock, systemRandom as random } from "../../engine/storage/system.ts";
import { allowedFiles, blobFiles } from "../../engine/worker/blobFiles.ts";
import type { ApiPorts } from "../api/apiRequest.ts";
import { threadPool } from "../threadPool.ts";
import { callerOf } from "./callerOf.ts";
import { log } from "./logTo.ts";
import type { Parts } from "./parts.ts";

/** What the routes of the API are given. */
export function apiPortsOf(
  { config, names, calculations, sources, threads }: Parts,
  { pollNow }: Pick<Coordinator, "pollNow">,
): ApiPorts {
  const { settings, connection } = config;
  const client = {
    storage: connectStorage(connection),
    names,
    clock,
    random,
    calculations,
    pollNow,
  };
  return {
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
  };
}
