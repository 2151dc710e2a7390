import { LeasefoldError } from "../../model/errors.ts";

/** Why a named lease is not held any more. */
export type LeaseEnd =
  /** Given back by its holder. */
  | "released"
  /** No renewal was confirmed in time. */
  | "stop-work"
  /** Storage said so: another broke it or has it, or the blob is gone. */
  | "lost";

/** Thrown instead of an effect, and the reason of a lease's signal. */
export class LeaseLost extends LeasefoldError {
  readonly lease: string;
  readonly end: LeaseEnd;
  constructor(lease: string, end: LeaseEnd, cause?: unknown) {
    super("lease-lost", `The lease ${JSON.stringify(lease)} is not held any more: ${end}.`, {
      retry: "later",
      details: { lease, end },
      cause,
    });
    this.lease = lease;
    this.end = end;
  }
}
