import { STATUS_CODES } from "node:http";
import type { HttpResponseInit } from "@azure/functions";
import { edgeOf, LeasefoldError, messageOf } from "../../model/errors.ts";

/** Refusals for which HTTP has a status of its own. */
const statusOfCode: Readonly<Record<string, number>> = {
  "body-too-large": 413,
  "not-json-type": 415,
  "range-not-satisfiable": 416,
  "no-answer": 504,
};

/** Seconds after which a caller may try again where storage was busy. */
const retryAfterS = 5;

/** RFC 9457 problem details of anything thrown. Only our own errors tell their message; a bug's stays in the log. */
export function problemOf(error: unknown): HttpResponseInit & { readonly status: number } {
  const known = error instanceof LeasefoldError;
  const code = known ? error.code : "internal";
  const status = statusOfCode[code] ?? edgeOf(error).httpStatus;
  const details = known ? error.details : {};
  const field = typeof details["field"] === "string" ? { field: details["field"] } : {};
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(status === 503 ? { "retry-after": String(retryAfterS) } : {}),
      ...(typeof details["contentRange"] === "string" ? { "content-range": details["contentRange"] } : {}),
    },
    jsonBody: {
      type: `urn:leasefold:error:${code}`,
      title: STATUS_CODES[status] ?? "Error",
      status,
      detail: known ? messageOf(error) : "an error inside of Leasefold; the log of the app has it",
      code,
      ...field,
    },
  };
}
