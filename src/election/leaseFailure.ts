import { StorageError } from "../engine/model/errors.ts";

/**
 * What a failed lease call means, by storage error code and never by status: 409 and 412 each carry several of these.
 * `contention`: another holds the lease, which is normal. `loss`: the lease or its blob is definitely not ours any
 * more. `bug`: the request itself was wrong, so repeating it does not help. `denied`: identity or permission is
 * missing. `transient`: nothing is known; retry until the stop-work deadline.
 */
export type LeaseFailure = "contention" | "loss" | "bug" | "denied" | "transient";

/** Source: learn.microsoft.com/rest/api/storageservices/blob-service-error-codes and …/lease-blob. */
const failures: Readonly<Record<string, LeaseFailure>> = {
  LeaseAlreadyPresent: "contention",
  LeaseIsBreakingAndCannotBeAcquired: "contention",

  LeaseIdMismatchWithLeaseOperation: "loss",
  LeaseIdMismatchWithBlobOperation: "loss",
  LeaseIsBrokenAndCannotBeRenewed: "loss",
  LeaseIsBreakingAndCannotBeChanged: "loss",
  LeaseNotPresentWithLeaseOperation: "loss",
  LeaseNotPresentWithBlobOperation: "loss",
  LeaseAlreadyBroken: "loss",
  LeaseLost: "loss",
  ConditionNotMet: "loss",
  BlobNotFound: "loss",
  ResourceNotFound: "loss",
  ContainerNotFound: "loss",
  ContainerBeingDeleted: "loss",
  ContainerDisabled: "loss",

  LeaseIdMissing: "bug",
  EmptyMetadataKey: "bug",
  InvalidHeaderValue: "bug",
  InvalidInput: "bug",
  InvalidMetadata: "bug",
  InvalidResourceName: "bug",
  InvalidUri: "bug",
  MetadataTooLarge: "bug",
  MissingRequiredHeader: "bug",
  OutOfRangeInput: "bug",
  UnsupportedHeader: "bug",
};

/** The service's own code, or `""` where there was no answer. */
export const storageCodeOf = (error: unknown): string =>
  error instanceof StorageError ? error.storageCode : "";

/** Codes that the table lacks, and errors that storage did not send, say nothing about the lease: `transient`. */
export function classifyFailure(error: unknown): LeaseFailure {
  if (error instanceof StorageError && error.kind === "denied") return "denied";
  const code = storageCodeOf(error);
  return Object.hasOwn(failures, code) ? (failures[code] ?? "transient") : "transient";
}

/** Storage answered about the lease itself, so a holder cannot go on. `denied` says nothing about who holds it. */
export function endsLease(error: unknown): boolean {
  const failure = classifyFailure(error);
  return failure !== "transient" && failure !== "denied";
}
