/**
 * Storage calls by billing class, and what they cost. Prices are list prices in US dollars for a general
 * purpose v2 account, hot, locally redundant, per 10,000 calls (azure.microsoft.com/pricing/details/storage;
 * read in the price tables of infracost in November 2026). They are an estimate, never a bill.
 */

/** `queue` is any queue call; `other` includes lease calls, Set Metadata, Get Properties, and a batch beside what is in it. */
export const billingClasses = ["write", "list", "read", "other", "queue", "delete"] as const;
export type BillingClass = (typeof billingClasses)[number];
export type CallCounts = Readonly<Record<BillingClass, number>>;

const dollarsPer10k: CallCounts = {
  write: 0.055,
  list: 0.055,
  read: 0.0044,
  other: 0.0044,
  queue: 0.004,
  delete: 0,
};

export const noCalls: CallCounts = { write: 0, list: 0, read: 0, other: 0, queue: 0, delete: 0 };

/** Of some classes; none of the others. */
export const calls = (some: Partial<CallCounts>): CallCounts => ({ ...noCalls, ...some });

const combine = (a: CallCounts, b: CallCounts, sign: 1 | -1): CallCounts => ({
  write: a.write + sign * b.write,
  list: a.list + sign * b.list,
  read: a.read + sign * b.read,
  other: a.other + sign * b.other,
  queue: a.queue + sign * b.queue,
  delete: a.delete + sign * b.delete,
});

export const addCalls = (a: CallCounts, b: CallCounts): CallCounts => combine(a, b, 1);
export const subtractCalls = (a: CallCounts, b: CallCounts): CallCounts => combine(a, b, -1);

export const scaleCalls = (counts: CallCounts, times: number): CallCounts =>
  Object.fromEntries(billingClasses.map((one) => [one, counts[one] * times])) as CallCounts;

/** Estimates come as fractions. */
export const roundCalls = (counts: CallCounts): CallCounts =>
  Object.fromEntries(billingClasses.map((one) => [one, Math.round(counts[one])])) as CallCounts;

export const totalCalls = (counts: CallCounts): number =>
  billingClasses.reduce((sum, one) => sum + counts[one], 0);

/** Calls that cost anything: deletes of blobs are free. */
export const billedCalls = (counts: CallCounts): number => totalCalls(counts) - counts.delete;

/** List price of these calls in US dollars. */
export const dollarsOf = (counts: CallCounts): number =>
  billingClasses.reduce((sum, one) => sum + (counts[one] * dollarsPer10k[one]) / 10_000, 0);

/** Compact text of the counts, in the order of `billingClasses`: `1.0.2.1.0.0`. */
export const encodeCalls = (counts: CallCounts): string => billingClasses.map((one) => counts[one]).join(".");

/** The inverse of `encodeCalls`; anything else is no calls, since counts are only ever an estimate. */
export function decodeCalls(text: string | undefined): CallCounts {
  const numbers = (text ?? "").split(".").map(Number);
  if (numbers.length !== billingClasses.length || !numbers.every(Number.isSafeInteger)) return noCalls;
  return Object.fromEntries(billingClasses.map((one, index) => [one, numbers[index]])) as CallCounts;
}
