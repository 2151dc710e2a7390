import { limits } from "../../../src/engine/model/limits.ts";
import type { Names } from "../../../src/engine/model/names.ts";
import type { Clock, Random, Storage } from "../../../src/engine/storage/ports.ts";
import type { WorkerPorts } from "../../../src/engine/worker/ports.ts";
import { processState } from "../../../src/engine/worker/processState.ts";
import { heartbeatProcess } from "../../support/heartbeatProcess.ts";
import { modelCode } from "./modelCode.ts";

export interface WorkerOptions {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  /** Messages that each of the two functions takes at once: `batchSize` + `newBatchThreshold`. */
  readonly takes: number;
  readonly threads: number;
  readonly cores: number;
  /** Core time of one chunk. */
  readonly chunkMs: number;
  readonly onPack?: (() => void) | undefined;
  /** Queues whose messages it takes; default both. */
  readonly listens?: readonly string[] | undefined;
}

/** The app's worker with a calculation whose chunks all cost the same. */
export function workerPorts({ storage, names, clock, random, ...instance }: WorkerOptions): WorkerPorts {
  return {
    ...{ storage, names, clock, random, log: () => {} },
    userCode: modelCode(clock, random, instance),
    ...processState({ storage, names, clock, random }, heartbeatProcess(random.uuid(), instance.threads)),
    packLimitMs: limits.packLimitMs,
    endRetryMs: limits.endRetryMs,
    versionOf: () => "leasefold 0",
    foldBytesMax: limits.foldBytesMax,
    tree: limits,
  };
}
