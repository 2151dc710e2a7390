import { messageOf, StorageError } from "../model/errors.ts";
import { abortError, isAbortError } from "./system.ts";

/**
 * Only here a vendor's failure becomes a `StorageError`. The service's own code decides where there is one, otherwise
 * the status. Not promised: that `busy` had no effect.
 */
export type Service = "blob" | "queue" | "memory";

/** The role to write, and the scope where it suffices; none is needed on the account. */
const blobRole = { role: "Storage Blob Data Contributor", scope: "container" };
const queueRole = { role: "Storage Queue Data Contributor", scope: "queue" };

/** Codes that mean "retry later" whatever their status; the first two come with 409. */
const busyCodes: ReadonlySet<string> = new Set([
  "ContainerBeingDeleted",
  "QueueBeingDeleted",
  "ServerBusy",
  "OperationTimedOut",
  "InternalError",
]);

/** Names of the errors of @azure/identity, which never reach the storage service. */
const tokenErrors: ReadonlySet<string> = new Set([
  "AuthenticationError",
  "AggregateAuthenticationError",
  "AuthenticationRequiredError",
  "CredentialUnavailableError",
]);

/**
 * What to throw for a failed call. If the caller's signal ended it, that is an AbortError; any other abort was our own
 * cap on the request. Errors that no vendor is known to throw pass through: they are bugs, not outages.
 */
export function failureOf(
  error: unknown,
  service: Service,
  what: string,
  callerSignal: AbortSignal | undefined,
): unknown {
  if (error instanceof StorageError) return error;
  if (isAbortError(error)) {
    return callerSignal?.aborted === true
      ? abortError(error)
      : storageError({ service, detail: `${what} did not end in time`, cause: error });
  }
  const { name, status, code, sent } = anatomyOf(error);
  if (tokenErrors.has(name)) {
    const reason = messageOf(error).split("\n", 1)[0] ?? "";
    const detail = `${what}, no token for the identity (${reason})`;
    return storageError({ service, status: status ?? 401, detail, cause: error });
  }
  if (!sent) return error;
  if (status !== undefined) return storageError({ service, code, status, detail: what, cause: error });
  return storageError({ service, detail: code === "" ? what : `${what} (${code})`, cause: error });
}

interface Failure {
  readonly service: Service;
  /** The service's own, if it gave one. */
  readonly code?: string;
  readonly status?: number | undefined;
  readonly detail: string;
  readonly cause?: unknown;
}

/** The error for a code and status as the service gives them; `detail` opens the message. */
export const storageErrorOfCode = (
  service: Service,
  code: string,
  status: number | undefined,
  detail: string,
): StorageError => storageError({ service, code, status, detail });

export function storageError({ service, code = "", status, detail, cause }: Failure): StorageError {
  const kind = kindOf(code, status);
  const parts = [code, status === undefined ? "no answer" : `status ${status}`].filter((part) => part !== "");
  const { role, scope } = service === "queue" ? queueRole : blobRole;
  const key = code === "AuthenticationFailed" ? "the key or token was not accepted; " : "";
  const needs = `to write, an identity needs the role "${role}" on that ${scope}`;
  const hint = kind === "denied" ? `; ${key}${needs}` : "";
  return new StorageError(kind, code, status, `${detail || service}: ${parts.join(", ")}${hint}`, cause);
}

function kindOf(code: string, status: number | undefined): StorageError["kind"] {
  // A success status on an error is an answer that broke off or could not be read: its effect is unknown.
  if (status === undefined || status < 300) return "busy";
  if (busyCodes.has(code) || status === 408 || status === 429 || status >= 500) return "busy";
  return status === 401 || status === 403 ? "denied" : "refused";
}

/** Reads an error by its shape, because bundles may hold more than one copy of a vendor's classes. */
function anatomyOf(error: unknown) {
  if (!(error instanceof Error)) return { name: "", status: undefined, code: "", sent: false };
  const shape = error as Error & {
    code?: unknown;
    statusCode?: unknown;
    response?: { headers?: { get?(name: string): string | undefined } };
  };
  const status = typeof shape.statusCode === "number" ? shape.statusCode : undefined;
  // A HEAD has no body for the code, only the header.
  const header = shape.response?.headers?.get?.("x-ms-error-code");
  const code = header ?? (typeof shape.code === "string" ? shape.code : "");
  // System codes such as ECONNRESET start with E; Node's ERR_… are wrong arguments, except a stream that broke off.
  const network = (/^E[A-Z]+$/.test(code) && code !== "EINVAL") || code === "ERR_STREAM_PREMATURE_CLOSE";
  return { name: shape.name, status, code, sent: shape.name === "RestError" || network };
}

/** The call's value, or the outcome for its error code; any other error is thrown on. */
export async function withOutcomes<T, Outcome>(
  call: Promise<T>,
  outcomes: Readonly<Record<string, Outcome>>,
): Promise<T | Outcome> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StorageError && Object.hasOwn(outcomes, error.storageCode)) {
      return outcomes[error.storageCode] as Outcome;
    }
    throw error;
  }
}
