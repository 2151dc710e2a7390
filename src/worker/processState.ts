import { subtractCalls } from "../model/calls.ts";
import type { CallMeter } from "../storage/calls.ts";
import { otherCodeNotes } from "./attempt/rightCode.ts";
import { documents } from "./documents.ts";
import { markerWatch } from "./markerWatch.ts";
import type { CallReport, ProcessState, WorkerPorts } from "./ports.ts";

/** What one process keeps between messages, empty at its start. */
export const processState = (ports: Pick<WorkerPorts, "storage" | "names" | "clock">): ProcessState => ({
  documents: documents(ports.storage.blobs, ports.names),
  watch: markerWatch(ports.storage.blobs, ports.names, ports.clock),
  report: callReport(ports.storage.meter),
  otherCode: otherCodeNotes(ports),
  inTurn: oneAtATime(),
});

function oneAtATime(): ProcessState["inTurn"] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

export function callReport(meter: CallMeter): CallReport {
  let reported = meter.counts();
  return {
    take() {
      const before = reported;
      reported = meter.counts();
      return subtractCalls(reported, before);
    },
  };
}
