import { STATUS_CODES } from "node:http";
import * as z from "zod";
import {
  edgeOf,
  InputError,
  isUnreadable,
  LeasefoldError,
  messageOf,
  unreadableWord,
} from "../../engine/model/errors.ts";
import type { ApiAnswer, ApiHandler, ApiPorts, ApiRequest } from "./apiRequest.ts";

/**
 * Keeps a browser from running anything in an answer, whatever a calculation or a caller put into it: scripts of the API's
 * origin could reach function keys. Every answer but the files of the page passes here, problems and health included.
 */
export const harmless = (answer: ApiAnswer): ApiAnswer => ({
  ...answer,
  headers: {
    ...answer.headers,
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
  },
});

/** Errors for which HTTP has a specific status. */
const statusOfCode: Readonly<Record<string, number>> = {
  "read-only": 403,
  "uploads-denied": 403,
  "links-off": 403,
  "no-links": 403,
  "link-denied": 403,
  "method-not-allowed": 405,
  "body-too-large": 413,
  "answer-too-large": 413,
  "not-json-type": 415,
  "range-not-satisfiable": 416,
  "plans-at-once": 503,
  "no-answer": 504,
  "plan-over-limit": 504,
};

/** Seconds after which a caller may retry if storage was busy. */
const retryAfterS = 5;

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe("Stable, for programs."),
    field: z.string().describe("The one field that is wrong.").exactOptional(),
  })
  .describe("RFC 9457 problem details.")
  .meta({ id: "Problem" });

/** RFC 9457 problem details of anything thrown. The message of a bug stays in the log. */
export function problemOf(error: unknown): ApiAnswer {
  const known = error instanceof LeasefoldError;
  const { httpStatus } = edgeOf(error);
  const code =
    isUnreadable(error) && httpStatus < 500 ? unreadableWord(error) : known ? error.code : "internal";
  const status = statusOfCode[code] ?? httpStatus;
  const { field, contentRange, allow } = known ? error.details : {};
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(status === 503 ? { "retry-after": String(retryAfterS) } : {}),
      ...(typeof contentRange === "string" ? { "content-range": contentRange } : {}),
      ...(typeof allow === "string" ? { allow } : {}),
    },
    jsonBody: {
      type: `urn:leasefold:error:${code}`,
      title: STATUS_CODES[status] ?? "Error",
      status,
      detail: known ? messageOf(error) : "an error inside Leasefold; the log of the app has it",
      code,
      ...(typeof field === "string" ? { field } : {}),
    },
  };
}

/** Where the lines about failed requests go. */
export interface ApiLog {
  warn(...args: unknown[]): void;
  error(...args: unknown[]): void;
}

/** Who answers requests, in the app or in `leasefold ui`. */
export interface ApiHost {
  readonly readOnly: () => boolean;
  /** Called by each request, so that a wrong setting or unavailable storage fails that request only. */
  readonly ports: () => ApiPorts | Promise<ApiPorts>;
  /** What is answered for anything thrown, by default its problem document. */
  readonly fail?: (error: unknown) => ApiAnswer;
}

/** Turns what a handler throws into an answer and, unless it is a caller's mistake, a log line. */
export async function answer(
  handler: ApiHandler,
  request: ApiRequest,
  { readOnly, ports, fail = problemOf }: ApiHost,
  log: ApiLog,
): Promise<ApiAnswer> {
  try {
    if (!isReading(request.method) && readOnly()) throw isReadOnly(request.method);
    const all = await ports();
    const actor = all.actorOf?.(request.headers) ?? all.client.actor;
    return harmless(await handler(request, { ...all.client, actor }, all));
  } catch (error) {
    const { level, httpStatus } = edgeOf(error);
    if (level === "warn") log.warn(`http: ${messageOf(error)}`);
    if (level === "error" && httpStatus >= 500) log.error("http:", error);
    return harmless(fail(error));
  }
}

const isReadOnly = (method: string): InputError =>
  new InputError("conflict", "read-only", `${method}: this API is read-only; use the CLI to change anything`);

/** The methods that change nothing; a page and an API that are read-only take no other. */
const isReading = (method: string): boolean => ["GET", "HEAD", "OPTIONS"].includes(method);
