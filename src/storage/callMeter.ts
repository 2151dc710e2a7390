import { type BillingClass, billingClasses } from "../model/calls.ts";
import type { CallMeter } from "./ports.ts";

/** Counts calls by billing class, from zero. One meter may serve several storages. */
export function callMeter(): CallMeter {
  const counts = Object.fromEntries(billingClasses.map((one) => [one, 0])) as Record<BillingClass, number>;
  return {
    counts: () => ({ ...counts }),
    count: (billingClass) => {
      counts[billingClass] += 1;
    },
  };
}
