import { flexBilling } from "../model/prices.ts";
import { oneAtATime } from "../storage/system.ts";
import { otherCodeNotes } from "./attempt/rightCode.ts";
import { documents } from "./documents.ts";
import { type HeartbeatProcess, workerHeartbeats } from "./heartbeats.ts";
import { keepPrinted } from "./keepPrinted.ts";
import { markerWatch } from "./markerWatch.ts";
import type { ProcessState, WorkerPorts } from "./ports.ts";

/** What one process keeps between messages, empty at its start. */
export const processState = (
  ports: Pick<WorkerPorts, "storage" | "names" | "clock" | "random">,
  process: HeartbeatProcess & { readonly instanceMb?: number },
): ProcessState => ({
  documents: documents(ports.storage.blobs, ports.names),
  watch: markerWatch(ports.storage.blobs, ports.names, ports.clock),
  instance: { mb: process.instanceMb ?? flexBilling.memoryMb, threads: process.threads },
  noteOtherCode: otherCodeNotes(ports),
  inTurn: oneAtATime(),
  heartbeats: workerHeartbeats(ports, process),
  deliveries: { now: 0 },
  keepPrinted: keepPrinted(ports, process.instance),
});
