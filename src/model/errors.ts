/**
 * The few ways things go wrong, and what each edge does about it. Losing a lease or finding a blob missing is
 * no error; those are outcomes. Only `storage/azure/storageErrors.ts` turns a vendor's code into one of these.
 */

export type Retry = "never" | "later";

export class LeasefoldError extends Error {
  /** Stable and machine-readable, kebab-case. */
  readonly code: string;
  readonly retry: Retry;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: { retry?: Retry; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = options.retry ?? "never";
    this.details = options.details ?? {};
  }
}

/** The caller sent something wrong: `invalid` (field and limit named), `unknown` (no such thing) or `conflict`. */
export class InputError extends LeasefoldError {
  readonly reason: "invalid" | "unknown" | "conflict";
  constructor(
    reason: "invalid" | "unknown" | "conflict",
    code: string,
    message: string,
    details: Record<string, unknown> = {},
  ) {
    super(code, message, { details });
    this.reason = reason;
  }
}

/** Something asked for is there but not ready, such as the result of a run that still works. */
export class NotReadyError extends LeasefoldError {}

/** A setting is wrong or missing; nothing starts. */
export class ConfigError extends LeasefoldError {}

/**
 * Storage refused or did not answer. `storageCode` is the service's own error code, or `""` without an answer.
 * `busy`: timeout, throttling, 5xx, no connection: the call may have had its effect.
 * `denied`: identity or permission. `refused`: any other definite refusal.
 */
export class StorageError extends LeasefoldError {
  readonly kind: "busy" | "denied" | "refused";
  readonly storageCode: string;
  readonly status: number | undefined;
  constructor(
    kind: "busy" | "denied" | "refused",
    storageCode: string,
    status: number | undefined,
    message: string,
    cause?: unknown,
  ) {
    super(`storage-${kind}`, message, { retry: kind === "busy" ? "later" : "never", cause });
    this.kind = kind;
    this.storageCode = storageCode;
    this.status = status;
  }
}

/** Stored bytes do not decode. */
export class CorruptDataError extends LeasefoldError {}

/** Stored bytes were written by a newer version of Leasefold; they are not corrupt. */
export class NewerVersionError extends LeasefoldError {}

/**
 * A user's calculation threw, hung, crashed its thread or returned something impossible. `details.stack` is its stack
 * in the thread where it failed: a host that logs the error then shows frames of user code, and not of a bundle.
 */
export class CalculationError extends LeasefoldError {
  constructor(...given: ConstructorParameters<typeof LeasefoldError>) {
    super(...given);
    const { stack } = this.details;
    if (typeof stack === "string") this.stack = stack;
  }
}

/** A bug of ours. */
export class InvariantError extends LeasefoldError {}

export interface Edge {
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly level: "info" | "warn" | "error";
}

/** The one place where an error becomes an HTTP status, a CLI exit code and a log level. */
export function edgeOf(error: unknown): Edge {
  if (error instanceof InputError) {
    const httpStatus = { invalid: 400, unknown: 404, conflict: 409 }[error.reason];
    return { httpStatus, exitCode: 2, level: "info" };
  }
  if (error instanceof NotReadyError) return { httpStatus: 409, exitCode: 3, level: "info" };
  if (error instanceof ConfigError) return { httpStatus: 500, exitCode: 2, level: "error" };
  if (error instanceof StorageError) {
    return {
      busy: { httpStatus: 503, exitCode: 4, level: "warn" } as const,
      denied: { httpStatus: 500, exitCode: 5, level: "error" } as const,
      refused: { httpStatus: 500, exitCode: 4, level: "error" } as const,
    }[error.kind];
  }
  if (error instanceof CorruptDataError || error instanceof NewerVersionError) {
    return { httpStatus: 500, exitCode: 6, level: "error" };
  }
  if (error instanceof CalculationError) return { httpStatus: 500, exitCode: 7, level: "warn" };
  return { httpStatus: 500, exitCode: 70, level: "error" };
}

/** The message of anything thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
