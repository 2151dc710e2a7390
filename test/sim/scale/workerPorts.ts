import { limits } from "../../../src/model/limits.ts";
import type { Names } from "../../../src/model/names.ts";
import type { Clock, Random, Storage } from "../../../src/storage/ports.ts";
import { callReport } from "../../../src/worker/callReport.ts";
import { documents } from "../../../src/worker/documents.ts";
import { markerWatch } from "../../../src/worker/markerWatch.ts";
import type { WorkerPorts } from "../../../src/worker/ports.ts";
import { rangesCode } from "../../support/rangesCode.ts";

export interface WorkerOptions {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly threads: number;
  /** Messages that each of the two functions takes at once: `batchSize` + `newBatchThreshold`. */
  readonly takes: number;
  readonly chunkMs: number;
}

/** The app's worker with a calculation whose chunks all take the same virtual time. */
export function workerPorts({ threads, chunkMs, ...given }: WorkerOptions): WorkerPorts {
  const { storage, names, clock, random } = given;
  return {
    ...{ storage, names, clock, random, log: () => {} },
    userCode: rangesCode(clock, threads, random, { chunkMs: () => chunkMs }),
    documents: documents(storage.blobs, names),
    watch: markerWatch(storage.blobs, names, clock),
    report: callReport(storage.meter),
    packLimitMs: limits.packLimitMs,
    versionOf: () => "leasefold 0",
    foldBytesMax: limits.foldBytesMax,
    tree: limits,
  };
}
