import { type BillingClass, type CallCounts, noCalls } from "../model/calls.ts";

/** Limits one call: when the signal fires, the call ends with an AbortError and its effect is unknown. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Counts calls by billing class; every request that reaches the service counts, failed ones too. */
export interface CallMeter {
  counts(): CallCounts;
  count(billingClass: BillingClass): void;
}

/** Begins at zero. */
export function callMeter(): CallMeter {
  const counts = { ...noCalls };
  return {
    counts: () => ({ ...counts }),
    count(billingClass) {
      counts[billingClass] += 1;
    },
  };
}
