import { subtractCalls } from "../model/calls.ts";
import type { CallMeter } from "../storage/calls.ts";
import { oneAtATime } from "../storage/system.ts";
import { otherCodeNotes } from "./attempt/rightCode.ts";
import { documents } from "./documents.ts";
import { markerWatch } from "./markerWatch.ts";
import type { ProcessState, WorkerPorts } from "./ports.ts";

/** What one process keeps between messages, empty at its start. */
export const processState = (ports: Pick<WorkerPorts, "storage" | "names" | "clock">): ProcessState => ({
  documents: documents(ports.storage.blobs, ports.names),
  watch: markerWatch(ports.storage.blobs, ports.names, ports.clock),
  takeCalls: callReport(ports.storage.meter),
  noteOtherCode: otherCodeNotes(ports),
  inTurn: oneAtATime(),
});

export function callReport(meter: CallMeter): ProcessState["takeCalls"] {
  let reported = meter.counts();
  return () => {
    const before = reported;
    reported = meter.counts();
    return subtractCalls(reported, before);
  };
}
