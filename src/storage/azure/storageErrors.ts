import { messageOf, StorageError } from "../../model/errors.ts";
import { abortError, isAbortError } from "../system.ts";

/**
 * The only place where a vendor's failure becomes a `StorageError`. The service's own code decides wherever there
 * is one; the status decides where there is none.
 *
 * Not promised: that `busy` had no effect.
 */
export type Service = "blob" | "queue" | "memory";

const roleOf: Readonly<Record<Service, string>> = {
  blob: "Storage Blob Data Contributor",
  queue: "Storage Queue Data Contributor",
  memory: "Storage Blob Data Contributor",
};

/** Where a role is enough; none is needed on the account. */
const placeOf: Readonly<Record<Service, string>> = { blob: "container", queue: "queue", memory: "container" };

/** Codes that mean "ask again later" whatever their status; the first two come with 409. */
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
 * What to throw for a failed call. A call that the caller's signal ended is an AbortError; an abort without it was
 * our own cap on the request. What no vendor is known to throw passes through: it is a bug, not an outage.
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
      : storageErrorOfCode(service, "", undefined, `${what} did not end in time`, error);
  }
  const { name, status, code, sent } = anatomyOf(error);
  if (tokenErrors.has(name)) {
    const reason = messageOf(error).split("\n", 1)[0] ?? "";
    return storageErrorOfCode(
      service,
      "",
      status ?? 401,
      `${what}, no token for the identity (${reason})`,
      error,
    );
  }
  if (!sent) return error;
  const systemCode = status === undefined && code !== "" ? ` (${code})` : "";
  return storageErrorOfCode(service, status === undefined ? "" : code, status, `${what}${systemCode}`, error);
}

/** The error for a code and status as the service gives them; `detail` opens the message. */
export function storageErrorOfCode(
  service: Service,
  code: string,
  status: number | undefined,
  detail: string,
  cause?: unknown,
): StorageError {
  const kind = kindOf(code, status);
  const parts = [code, status === undefined ? "no answer" : `status ${status}`].filter((part) => part !== "");
  const role = `to write, an identity needs the role "${roleOf[service]}" on that ${placeOf[service]}`;
  const key = code === "AuthenticationFailed" ? "the key or token was not accepted; " : "";
  const hint = kind === "denied" ? `; ${key}${role}` : "";
  return new StorageError(kind, code, status, `${detail || service}: ${parts.join(", ")}${hint}`, cause);
}

function kindOf(code: string, status: number | undefined): StorageError["kind"] {
  // A success status on something thrown is an answer that broke off or could not be read: its effect is unknown.
  if (status === undefined || status < 300) return "busy";
  if (busyCodes.has(code) || status === 408 || status === 429 || status >= 500) return "busy";
  return status === 401 || status === 403 ? "denied" : "refused";
}

/** What can be told of an error by its shape, since bundles may hold more than one copy of a vendor's classes. */
function anatomyOf(error: unknown): {
  name: string;
  status: number | undefined;
  code: string;
  sent: boolean;
} {
  if (!(error instanceof Error)) return { name: "", status: undefined, code: "", sent: false };
  const shape = error as Error & {
    code?: unknown;
    statusCode?: unknown;
    response?: { headers?: { get?(name: string): string | undefined } };
  };
  const status = typeof shape.statusCode === "number" ? shape.statusCode : undefined;
  // The header is also there where a HEAD has no body to hold the code.
  const header = shape.response?.headers?.get?.("x-ms-error-code");
  const code = header ?? (typeof shape.code === "string" ? shape.code : "");
  // System codes such as ECONNRESET start with E; Node's ERR_… are wrong arguments, except a stream that broke off.
  const network = (/^E[A-Z]+$/.test(code) && code !== "EINVAL") || code === "ERR_STREAM_PREMATURE_CLOSE";
  return { name: shape.name, status, code, sent: shape.name === "RestError" || network };
}

/** The call's value, or the outcome its error code stands for; any other error is thrown on. */
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
