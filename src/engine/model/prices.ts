/**
 * List prices in US dollars, the only place of them in code. They are those of one region at one time: what follows from them is
 * an estimate, not a bill.
 */

/** Where the prices are from, for people. */
export const pricesSource = "list prices, November 2026";

/**
 * Per 10,000 storage calls of a general purpose v2 account, hot, locally redundant (azure.microsoft.com/pricing/details/storage; from
 * the price tables of infracost).
 */
export const storageDollarsPer10k = {
  write: 0.055,
  list: 0.055,
  read: 0.0044,
  other: 0.0044,
  queue: 0.004,
  delete: 0,
} as const;

/**
 * Flex Consumption, on demand, without the monthly grant (azure.microsoft.com/pricing/details/functions): a GB-second of an instance
 * that executes, and a million executions.
 */
export const flexDollars = { perGbS: 0.000026, perMillionExecutions: 0.4 } as const;

/**
 * How Flex Consumption counts an instance: its memory, 2,048 MB by default, while it executes anything, at least so long, then in
 * steps (learn.microsoft.com/azure/azure-functions/flex-consumption-plan#billing).
 */
export const flexBilling = { memoryMb: 2_048, leastMs: 1_000, stepMs: 100 } as const;
