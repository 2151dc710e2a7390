import { storageDollarsPer10k } from "./prices.ts";

/** Storage calls by billing class, and their cost at list price: an estimate, not a bill. */

/** `queue` is any queue call. `other` includes lease calls, Set Metadata, Get Properties, and batches without their parts. */
export const billingClasses = ["write", "list", "read", "other", "queue", "delete"] as const;
export type BillingClass = (typeof billingClasses)[number];
export type CallCounts = Readonly<Record<BillingClass, number>>;

const countsBy = (count: (of: BillingClass) => number): CallCounts => ({
  write: count("write"),
  list: count("list"),
  read: count("read"),
  other: count("other"),
  queue: count("queue"),
  delete: count("delete"),
});

export const noCalls: CallCounts = countsBy(() => 0);

/** Call counts by billing class; absent classes count as zero. */
export const calls = (some: Partial<CallCounts>): CallCounts => ({ ...noCalls, ...some });

export const addCalls = (a: CallCounts, b: CallCounts): CallCounts => countsBy((one) => a[one] + b[one]);
export const subtractCalls = (a: CallCounts, b: CallCounts): CallCounts => countsBy((one) => a[one] - b[one]);
export const scaleCalls = (counts: CallCounts, times: number): CallCounts =>
  countsBy((one) => counts[one] * times);

export const roundCalls = (counts: CallCounts): CallCounts => countsBy((one) => Math.round(counts[one]));

export const totalCalls = (counts: CallCounts): number =>
  billingClasses.reduce((sum, one) => sum + counts[one], 0);

/** Calls that cost something: deletes of blobs are free. */
export const billedCalls = (counts: CallCounts): number => totalCalls(counts) - counts.delete;

/** List price of these calls in US dollars, to four significant digits. */
export function dollarsOf(counts: CallCounts): number {
  const dollars = billingClasses.reduce(
    (sum, one) => sum + (counts[one] * storageDollarsPer10k[one]) / 10_000,
    0,
  );
  return Number(dollars.toPrecision(4));
}
