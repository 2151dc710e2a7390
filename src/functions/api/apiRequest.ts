import type { HttpRequest, HttpResponseInit } from "@azure/functions";
import type { ZodType } from "zod";
import type { Client } from "../../client/client.ts";
import { InputError } from "../../model/errors.ts";

/** The part of a request that handlers look at, so that a test can make one without a host. */
export type ApiRequest = Pick<HttpRequest, "url" | "headers" | "params" | "query" | "arrayBuffer">;

/** A handler is a function of a request; what it throws becomes a problem document in one place. */
export type ApiHandler = (request: ApiRequest, client: Client) => Promise<HttpResponseInit>;

/** A submit carries at most 256 KB of parameters; the rest is room for their spelling. */
export const bodyBytesMax = 1024 * 1024;

/** The host holds a whole answer in memory, beside a leader's and a worker's work; a larger result goes by `Range`. */
export const answerBytesMax = 64 * 1024 * 1024;

/**
 * Decodes the body at the door; throws `InputError` naming the field, unknown ones included. Only `application/json` is
 * taken: a page of another origin can send any other type without asking first.
 */
export async function readBody<T>(request: ApiRequest, schema: ZodType<T>): Promise<T> {
  if (!jsonType.test(request.headers.get("content-type") ?? "")) throw notJsonType();
  if (Number(request.headers.get("content-length") ?? 0) > bodyBytesMax) throw tooLarge();
  const bytes = Buffer.from(await request.arrayBuffer());
  if (bytes.byteLength > bodyBytesMax) throw tooLarge();
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new InputError("invalid", "not-json", "the body is not JSON");
  }
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  if (issue?.code === "unrecognized_keys") {
    const field = [...issue.path, issue.keys[0] ?? ""].join(".");
    throw new InputError("invalid", "unknown-field", `${field}: there is no such field`, { field });
  }
  const field = issue?.path.join(".") ?? "";
  throw new InputError("invalid", "bad-field", `${field || "the body"}: ${issue?.message ?? "not valid"}`, {
    ...(field === "" ? {} : { field }),
  });
}

const jsonType = /^application\/json\s*(;|$)/i;

const notJsonType = (): InputError =>
  new InputError("invalid", "not-json-type", "Content-Type: must be application/json", {
    field: "Content-Type",
  });

const tooLarge = (): InputError =>
  new InputError("invalid", "body-too-large", `the body has more than ${bodyBytesMax} bytes (bodyBytesMax)`);

/** A parameter of the route, decoded by the host. */
export const routeParam = (request: ApiRequest, name: string): string => request.params[name] ?? "";

/** A whole number in the query, or undefined where it is absent. */
export function queryWhole(request: ApiRequest, name: string, max: number): number | undefined {
  const text = request.query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= 1 && value <= max) return value;
  throw new InputError("invalid", "bad-query", `${name}: ${text} is not a whole number from 1 to ${max}`, {
    field: name,
  });
}

/** An answer about something that changes: no cache may keep it. */
export const fresh = (
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): HttpResponseInit => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  jsonBody: body,
});
