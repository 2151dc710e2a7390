import type { LeaseState } from "../ports.ts";

/**
 * The lease rules of one blob, as the service documents them (learn.microsoft.com/rest/api/storageservices/lease-blob,
 * "Outcomes of use attempts" by lease state): pure functions of the lease, the request and the time.
 *
 * Not promised: the infinite lease and Change, which Leasefold never uses.
 */
export interface BlobLease {
  /** As last set; `leased` past its end reads as expired, `breaking` past its end as broken. */
  readonly set: "available" | "leased" | "breaking" | "broken";
  /** Empty only when available. */
  readonly id: string;
  readonly durationMs: number;
  /** End of the lease or of the breaking period, by the service's clock. */
  readonly untilMs: number;
}

export type LeaseRequest =
  | { readonly op: "acquire"; readonly id: string; readonly durationMs: number }
  | { readonly op: "renew" | "release"; readonly id: string }
  /** Without a period the lease runs out its time in the state `breaking`. */
  | { readonly op: "break"; readonly periodMs?: number };

type LeaseAnswer = { readonly lease: BlobLease } | { readonly refusal: LeaseRefusal };

/** All of them are 409. */
type LeaseRefusal =
  | "LeaseAlreadyPresent"
  | "LeaseIsBreakingAndCannotBeAcquired"
  | "LeaseIdMismatchWithLeaseOperation"
  | "LeaseIsBrokenAndCannotBeRenewed"
  | "LeaseNotPresentWithLeaseOperation";

/** All of them are 412. */
type WriteRefusal =
  | "LeaseIdMissing"
  | "LeaseIdMismatchWithBlobOperation"
  | "LeaseNotPresentWithBlobOperation";

export const noLease: BlobLease = { set: "available", id: "", durationMs: 0, untilMs: 0 };

export function leaseStateAt(lease: BlobLease, nowMs: number): LeaseState {
  if (lease.set === "leased") return nowMs < lease.untilMs ? "leased" : "expired";
  if (lease.set === "breaking") return nowMs < lease.untilMs ? "breaking" : "broken";
  return lease.set;
}

export function requestLease(lease: BlobLease, request: LeaseRequest, nowMs: number): LeaseAnswer {
  const state = leaseStateAt(lease, nowMs);
  switch (request.op) {
    case "acquire": {
      if (state === "breaking" && lease.id === request.id) {
        return { refusal: "LeaseIsBreakingAndCannotBeAcquired" };
      }
      const mayTake = state !== "breaking" && (state !== "leased" || lease.id === request.id);
      if (!mayTake) return { refusal: "LeaseAlreadyPresent" };
      const { id, durationMs } = request;
      return { lease: { set: "leased", id, durationMs, untilMs: nowMs + durationMs } };
    }
    case "renew":
      if (lease.id !== request.id) return { refusal: "LeaseIdMismatchWithLeaseOperation" };
      if (state === "breaking" || state === "broken") return { refusal: "LeaseIsBrokenAndCannotBeRenewed" };
      return { lease: { ...lease, set: "leased", untilMs: nowMs + lease.durationMs } };
    case "release":
      if (lease.id !== request.id) return { refusal: "LeaseIdMismatchWithLeaseOperation" };
      return { lease: noLease };
    case "break": {
      if (state === "available") return { refusal: "LeaseNotPresentWithLeaseOperation" };
      const restMs = Math.max(0, lease.untilMs - nowMs);
      const periodMs = Math.min(request.periodMs ?? restMs, restMs);
      const locked = state === "leased" || state === "breaking";
      if (!locked || periodMs === 0) return { lease: { ...lease, set: "broken", untilMs: 0 } };
      return { lease: { ...lease, set: "breaking", untilMs: nowMs + periodMs } };
    }
  }
}

/** Why a write under this lease id (none when undefined) is refused; undefined when it may proceed. */
export function refusalOfWrite(
  lease: BlobLease,
  leaseId: string | undefined,
  nowMs: number,
): WriteRefusal | undefined {
  const state = leaseStateAt(lease, nowMs);
  const locked = state === "leased" || state === "breaking";
  if (leaseId === undefined) return locked ? "LeaseIdMissing" : undefined;
  if (!locked) return "LeaseNotPresentWithBlobOperation";
  return leaseId === lease.id ? undefined : "LeaseIdMismatchWithBlobOperation";
}

/** A write on a blob whose lease has expired or was broken ends that lease: its id cannot renew any more. */
export function leaseAfterWrite(lease: BlobLease, nowMs: number): BlobLease {
  const state = leaseStateAt(lease, nowMs);
  return state === "expired" || state === "broken" ? noLease : lease;
}
