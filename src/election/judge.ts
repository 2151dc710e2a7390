import { StorageError } from "../model/errors.ts";

/**
 * What a refused lease call means, by storage error code and never by status: 409 and 412 each carry several
 * of these. `contention`: another holds it, that is normal. `loss`: the lease or its blob is definitely not
 * mine any more. `transient`: nothing is known, try again until the stop-work deadline. `bug`: the request
 * itself was wrong, and repeating it would not help.
 */
export type Verdict = "contention" | "loss" | "transient" | "bug";

/** Source: learn.microsoft.com/rest/api/storageservices/blob-service-error-codes and …/lease-blob. */
const verdicts: Readonly<Record<string, Verdict>> = {
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

  "": "transient",
  InternalError: "transient",
  OperationTimedOut: "transient",
  ServerBusy: "transient",

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

/** Codes not in the table, and errors that are none of storage's, say nothing about the lease: transient. */
export function judge(error: unknown): Verdict {
  const code = storageCodeOf(error);
  return Object.hasOwn(verdicts, code) ? (verdicts[code] ?? "transient") : "transient";
}

/** Identity or permission is missing; waiting would not help, so nobody races on. */
export const isDenied = (error: unknown): boolean => error instanceof StorageError && error.kind === "denied";
