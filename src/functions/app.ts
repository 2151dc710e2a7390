import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { loadCalculations } from "../calculations/registry.ts";
import type { Client } from "../client/client.ts";
import { ensurePlaces } from "../client/places.ts";
import { type Coordinator, coordinator } from "../coordinator/tick.ts";
import { type ElectionSettings, electionSettings } from "../election/settings.ts";
import { type HostSettings, readHostSettings } from "../model/hostSettings.ts";
import { namesOf } from "../model/names.ts";
import { readSettings, type Settings } from "../model/settings.ts";
import { connectStorage } from "../storage/connectStorage.ts";
import { dataStorageFrom } from "../storage/dataStorage.ts";
import { systemClock, systemRandom } from "../storage/system.ts";
import { callReport } from "../worker/callReport.ts";
import { documents } from "../worker/documents.ts";
import { markerWatch } from "../worker/markerWatch.ts";
import type { WorkerPorts } from "../worker/ports.ts";
import { threadPool } from "../worker/threadPool.ts";
import { electionLog } from "./electionLog.ts";
import { log } from "./logTo.ts";

/**
 * The composition of one process of the app: settings, storage, and the actors on it. Each actor has a storage of
 * its own, so that its calls are counted apart. Made once, at start; a wrong setting ends the start with one line
 * that names it.
 */
export interface App {
  readonly settings: Settings;
  readonly host: HostSettings;
  readonly coordinator: Coordinator;
  readonly worker: WorkerPorts;
  readonly client: Client;
  /** Makes containers and queues where they are missing; once per process, and again after a failure. */
  ready(): Promise<void>;
}

export async function makeApp(env: Readonly<Record<string, string | undefined>>, appDir: string): Promise<App> {
  const settings = readSettings(env);
  const host = readHostSettings(readFileSync(join(appDir, "host.json"), "utf8"), env);
  const connection = dataStorageFrom(env);
  const names = namesOf(settings.LEASEFOLD_NAMESPACE);
  const calculations = await loadCalculations(filesOf(settings.LEASEFOLD_CALCULATIONS, appDir));
  const [clock, random] = [systemClock, systemRandom];
  const [forLeader, forWorker, forClient] = [0, 1, 2].map(() => connectStorage(connection)) as [Storage_, Storage_, Storage_];
  return undefined as never;
}
