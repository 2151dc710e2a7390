import type { AnyCalculation } from "../../engine/calculation/contract.ts";
import type { Coordinator } from "../../engine/leader/tick.ts";
import { localWorker } from "../../engine/worker/localWorker.ts";
import type { WorkerPorts } from "../../engine/worker/ports.ts";
import type { ApiPorts } from "../api/apiRequest.ts";
import { apiPortsOf } from "./apiPortsOf.ts";
import { coordinatorOf } from "./coordinatorOf.ts";
import { partsOf } from "./parts.ts";
import type { StartupConfig } from "./startupConfig.ts";
import { workerOf } from "./workerOf.ts";

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
  const parts = await partsOf(config, builtIn);
  const worker = workerOf(parts);
  const coordinator = coordinatorOf(parts, localWorker(worker));
  return { api: apiPortsOf(parts, coordinator), coordinator, worker };
}
