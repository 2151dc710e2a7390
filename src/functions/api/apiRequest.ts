import type { HttpRequest, HttpResponseInit } from "@azure/functions";
import type { ZodType } from "zod";
import type { Client } from "../../client/client.ts";
import { InputError } from "../../model/errors.ts";

/** The part of a request that handlers use, so that tests can make one without a host. */
export type ApiRequest = Pick<HttpRequest, "method" | "url" | "headers" | "params" | "query" | "arrayBuffer">;

/** Answers a request. `answer` turns what it throws into a problem document. */
export type ApiHandler = (request: ApiRequest, client: Client) => Promise<HttpResponseInit>;

/** Bytes of a request body: a submit has at most 256 KB of parameters, which JSON may encode at greater length. */
const bodyBytesMax = 1024 * 1024;

/** Bytes of one answer, which the host holds in memory beside other work; a larger result is read by `Range`. */
export const answerBytesMax = 64 * 1024 * 1024;

/** Bytes of one part of a result. Clients that read a large result ask for several at a time. */
export const partBytesMax = 8 * 1024 * 1024;

/** The error for a wrong field, header or query parameter, which the message begins with. */
export const refused = (code: string, field: string, rule: string, details = {}): InputError =>
  new InputError("invalid", code, `${field}: ${rule}`, { field, ...details });

/**
 * Decodes the body; throws `InputError` naming the field, unknown fields included. Accepts only `application/json`: a page
 * of another origin can send some other types without a preflight request.
 */
export async function readBody<T>(request: ApiRequest, schema: ZodType<T>): Promise<T> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw refused("not-json-type", "Content-Type", "must be application/json");
  }
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
    throw refused("unknown-field", [...issue.path, issue.keys[0] ?? ""].join("."), "there is no such field");
  }
  const field = issue?.path.join(".") ?? "";
  const rule = issue?.message ?? "not valid";
  throw field === ""
    ? new InputError("invalid", "bad-field", `the body: ${rule}`)
    : refused("bad-field", field, rule);
}

const tooLarge = (): InputError =>
  new InputError("invalid", "body-too-large", `the body has more than ${bodyBytesMax} bytes (bodyBytesMax)`);

/** A parameter of the route, decoded by the host. */
export const routeParam = (request: ApiRequest, name: string): string => request.params[name] ?? "";

/** A whole number in the query; undefined if it is absent. */
export function queryWhole(request: ApiRequest, name: string, max: number): number | undefined {
  const text = request.query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= 1 && value <= max) return value;
  throw refused("bad-query", name, `${text} is not a whole number from 1 to ${max}`);
}

/** An answer that caches must not keep, because it changes. */
export const fresh = (jsonBody: unknown, status = 200, headers = {}): HttpResponseInit => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  jsonBody,
});
