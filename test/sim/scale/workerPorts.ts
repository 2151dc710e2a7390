import { limits } from "../../../src/model/limits.ts";
import type { Names } from "../../../src/model/names.ts";
import type { Clock, Random, Storage } from "../../../src/storage/ports.ts";
import { callReport } from "../../../src/worker/callReport.ts";
import { documents } from "../../../src/worker/documents.ts";
import { markerWatch } from "../../../src/worker/markerWatch.ts";
import type { WorkerPorts } from "../../../src/worker/ports.ts";
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
}

/** The app's worker with a calculation whose chunks all cost the same. */
export function workerPorts({ storage, names, clock, random, ...instance }: WorkerOptions): WorkerPorts {
  return {
    ...{ storage, names, clock, random, log: () => {} },
    userCode: modelCode(clock, random, instance),
    documents: documents(storage.blobs, names),
    watch: markerWatch(storage.blobs, names, clock),
    report: callReport(storage.meter),
    packLimitMs: limits.packLimitMs,
    endRetryMs: limits.endRetryMs,
    versionOf: () => "leasefold 0",
    foldBytesMax: limits.foldBytesMax,
    tree: limits,
  };
}
