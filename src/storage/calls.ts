import { type BillingClass, billingClasses } from "../model/calls.ts";

/** Limits one call: when the signal fires, the call ends with an AbortError and its effect is unknown. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Counts calls by billing class; every request that reaches the service counts, failed ones too. */
export interface CallMeter {
  /** A copy of the counts so far. */
  counts(): Readonly<Record<BillingClass, number>>;
  count(billingClass: BillingClass): void;
}

/** Begins at zero. One meter may serve several storages. */
export function callMeter(): CallMeter {
  const counts = Object.fromEntries(billingClasses.map((one) => [one, 0])) as Record<BillingClass, number>;
  return {
    counts: () => ({ ...counts }),
    count: (billingClass) => {
      counts[billingClass] += 1;
    },
  };
}
