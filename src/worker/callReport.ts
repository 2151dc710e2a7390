import { type CallCounts, subtractCalls } from "../model/calls.ts";
import type { CallMeter } from "../storage/calls.ts";

/**
 * Hands out the storage calls made since the last time, so that each output carries what came before it. A call
 * made on behalf of another pack in between is told by this one; the total is what counts.
 */
export interface CallReport {
  take(): CallCounts;
}

export function callReport(meter: CallMeter): CallReport {
  let told = meter.counts();
  return {
    take() {
      const now = meter.counts();
      const since = subtractCalls(now, told);
      told = now;
      return since;
    },
  };
}
