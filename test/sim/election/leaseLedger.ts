/**
 * Who holds the lease, kept from nothing but what storage accepted. It is a second opinion: smaller than the
 * account's lease table, and written apart from it.
 */
export interface LeaseLedger {
  acquired(leaseId: string): void;
  released(leaseId: string): void;
  broken(): void;
  /** By an operator, past the calls that are watched. */
  brokenByHand(): void;
  isHeldBy(leaseId: string): boolean;
}

export function leaseLedger(nowMs: () => number, leaseMs: number): LeaseLedger {
  let holder: { readonly leaseId: string; readonly untilMs: number } | undefined;
  const free = (): void => {
    holder = undefined;
  };
  return {
    acquired(leaseId) {
      holder = { leaseId, untilMs: nowMs() + leaseMs };
    },
    released(leaseId) {
      if (holder?.leaseId === leaseId) free();
    },
    broken: free,
    brokenByHand: free,
    isHeldBy: (leaseId) => holder?.leaseId === leaseId && nowMs() < holder.untilMs,
  };
}
