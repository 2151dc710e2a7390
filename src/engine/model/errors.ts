/**
 * The kinds of errors, and how each edge reports them. Losing a lease or not finding a blob is an outcome, not an error.
 * Only `storage/storageErrors.ts` turns a vendor's error code into one of these.
 */

type Retry = "never" | "later";

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

type InputReason = "invalid" | "unknown" | "conflict";

/** The caller sent something wrong: `invalid` (the message names field and limit), `unknown` (no such thing) or `conflict`. */
export class InputError extends LeasefoldError {
  readonly reason: InputReason;
  constructor(reason: InputReason, code: string, message: string, details: Record<string, unknown> = {}) {
    super(code, message, { details });
    this.reason = reason;
  }
}

/** The requested thing exists but is not ready, such as the result of a run that computes; with `retry: "never"` it has ended without. */
export class NotReadyError extends LeasefoldError {}

/** A setting is wrong or missing; nothing starts. */
export class ConfigError extends LeasefoldError {}

type StorageErrorKind = "busy" | "denied" | "refused";

/**
 * Storage refused or did not answer. `storageCode` is the service's own error code, or `""` without an answer.
 * `busy`: timeout, throttling, 5xx, no connection: the call may have had its effect.
 * `denied`: identity or permission. `refused`: any other definite refusal.
 */
export class StorageError extends LeasefoldError {
  readonly kind: StorageErrorKind;
  readonly storageCode: string;
  readonly status: number | undefined;
  constructor(
    kind: StorageErrorKind,
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

/** Stored bytes are of a version that this release does not read, by its code `newer-version` or `older-version`; they are not corrupt. */
export class OtherVersionError extends LeasefoldError {}

/** Whether an error says that stored bytes could not be understood. */
export const isUnreadable = (error: unknown): error is CorruptDataError | OtherVersionError =>
  error instanceof CorruptDataError || error instanceof OtherVersionError;

/** How lists and answers call what could not be read. */
export function unreadableWord({ code }: CorruptDataError | OtherVersionError) {
  return code === "newer-version" || code === "older-version" ? (`needs-${code}` as const) : "unreadable";
}

/** Of a document that is not what the app writes, which whoever may write it can see to; any other loss is the app's. */
const ofDocument: ReadonlySet<string> = new Set([
  ...["not-json", "too-deep", "too-large", "bad-shape", "newer-version", "older-version"],
  ...["spec-differs", "spec-lost"],
]);

/**
 * A user's calculation threw, hung, crashed its thread or returned something invalid. `details.stack` is the stack in the
 * thread where it failed, so that logs show frames of user code.
 */
export class CalculationError extends LeasefoldError {
  constructor(...given: ConstructorParameters<typeof LeasefoldError>) {
    super(...given);
    const { stack } = this.details;
    if (typeof stack === "string") this.stack = stack;
  }
}

/** Of an error by which user code asks for another attempt in `details.laterS` seconds, and of one by which it ends its run. */
export const laterCode = "retry-later";
export const failRunCode = "fail-run";

/** Code of the error of a run that failed since a file was changed after it was planned. */
export const inputsChanged = "inputs-changed";

/** Code of the error of a run whose plan was deleted: a retry makes no other one. */
export const planLost = "plan-lost";

/** Codes of calculation errors that another attempt, often in another process, may not meet. */
const passing: ReadonlySet<string> = new Set([
  // User code, which may depend on anything.
  "calculation-threw",
  laterCode,
  // The thread, its memory and its time are shared with other work on the machine.
  "thread-not-started",
  "thread-exited",
  "thread-crashed",
  "out-of-memory",
  "time-limit",
  "process-ended",
  "query-too-long",
  "query-too-large",
  "dropped",
  // Storage refused one instance, or one call.
  "file-denied",
  "file-refused",
  // During a deployment two versions of the app with other calculations run side by side.
  "unknown-calculation",
  "bad-calculation-file",
  "no-calculation-file",
  "calculation-name",
  "no-library",
  "old-node",
]);

export const mayPass = ({ code }: Pick<CalculationError, "code">): boolean => passing.has(code);

/** A chunk that a partial lacks, and why. */
export interface FailedChunk {
  readonly chunk: number;
  readonly code: string;
  readonly message: string;
}

/** A bug in Leasefold. */
export class InvariantError extends LeasefoldError {}

interface Edge {
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
  if (error instanceof NotReadyError) {
    const exitCode = error.retry === "later" ? 3 : exitCodeOfEnd(error.details["cause"]);
    return { httpStatus: 409, exitCode, level: "info" };
  }
  if (error instanceof ConfigError) return { httpStatus: 500, exitCode: 2, level: "error" };
  if (error instanceof StorageError) {
    return {
      busy: { httpStatus: 503, exitCode: 4, level: "warn" } as const,
      denied: { httpStatus: 500, exitCode: 5, level: "error" } as const,
      refused: { httpStatus: 500, exitCode: 4, level: "error" } as const,
    }[error.kind];
  }
  if (isUnreadable(error)) {
    return { httpStatus: ofDocument.has(error.code) ? 409 : 500, exitCode: 6, level: "error" };
  }
  if (error instanceof CalculationError)
    return { httpStatus: 422, exitCode: exitCodeOfCalculation, level: "warn" };
  return { httpStatus: 500, exitCode: 70, level: "error" };
}

const exitCodeOfCalculation = 7;

/**
 * The exit code for a run that ended without a result, by the code of its error: that of a failed calculation if work
 * failed, such as `pack-failed`, and 1 if it was cancelled or late.
 */
export const exitCodeOfEnd = (code: unknown): number =>
  typeof code === "string" && code.endsWith("-failed") ? exitCodeOfCalculation : 1;

/** The message of anything thrown; of an object that says nothing of itself its JSON, where it has one. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  const isObject = typeof error === "object" && error !== null;
  const saysNothing = isObject && (!("toString" in error) || error.toString === Object.prototype.toString);
  if (!saysNothing) return String(error);
  const none = "[object Object]";
  try {
    return (JSON.stringify(error) as string | undefined) ?? none;
  } catch {
    return none;
  }
}
