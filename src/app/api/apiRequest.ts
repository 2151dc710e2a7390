import { hash } from "node:crypto";
import type { ZodType } from "zod";
import { plainRule } from "../../engine/calculation/params.ts";
import type { Lead } from "../../engine/client/awaitRun.ts";
import type { Client } from "../../engine/client/client.ts";
import type { DescribedCalculation } from "../../engine/client/describeCalculations.ts";
import type { RunEstimate } from "../../engine/client/estimate/estimateRun.ts";
import type { PlanRequest } from "../../engine/client/estimate/planInThread.ts";
import { invalid, type RunRequest } from "../../engine/client/runRequest.ts";
import type { Submitted } from "../../engine/client/submit.ts";
import { InputError } from "../../engine/model/errors.ts";
import type { Log } from "../../engine/model/log.ts";

/**
 * What handlers use of a request and give as an answer. A request of `@azure/functions` is one, and an answer is its
 * `HttpResponseInit`; this room needs neither, so that `leasefold ui` and tests serve the same handlers.
 */
export interface ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly params: Readonly<Record<string, string>>;
  readonly query: { get(name: string): string | null; keys(): Iterable<string> };
  arrayBuffer(): Promise<ArrayBuffer>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** One of both, or neither. */
  readonly body?: Buffer | string;
  readonly jsonBody?: unknown;
}

/** What handlers need beside a client. The app and `leasefold ui` differ in these. */
export interface ApiPorts {
  readonly client: Client;
  readonly log: Log;
  /** Whether links to results are given out; by default they are not. */
  readonly resultLinks?: boolean;
  /** Absent where this process never leads. */
  readonly lead?: Lead;
  /** Who asks; by default the user of the client. */
  actorOf?(headers: ApiRequest["headers"]): string;
  calculations(): Promise<readonly DescribedCalculation[]>;
  submit(request: RunRequest, by?: Pick<Client, "actor">): Promise<Submitted>;
  /** Runs the code of the calculation in a thread of its own, within a limit of time. */
  plan(request: PlanRequest): Promise<RunEstimate>;
}

/** Answers a request. `answer` turns what it throws into a problem document. */
export type ApiHandler = (request: ApiRequest, client: Client, ports: ApiPorts) => Promise<ApiAnswer>;

/** Bytes of a request body: a submit has at most 256 KB of parameters, which JSON may encode at greater length. */
const bodyBytesMax = 1024 * 1024;

/** Bytes of one answer, which the host holds in memory beside other work; a larger result is read by `Range`. */
export const answerBytesMax = 64 * 1024 * 1024;

/** Bytes of one part of a result. Clients that read a large result ask for several at a time. */
export const partBytesMax = 8 * 1024 * 1024;

/**
 * Decodes the body, of which none is `{}`; throws `InputError` naming the field, unknown fields included. Accepts only
 * `application/json`: a page of another origin can send some other types without a preflight request.
 */
export async function readBody<T>(request: ApiRequest, schema: ZodType<T>): Promise<T> {
  const bytes = await readBytes(request, "application/json", { bodyBytesMax });
  const isEmpty = bytes.byteLength === 0;
  let value: unknown = {};
  try {
    // Other bytes are refused and not replaced: a filter for a name with such a letter would find nothing.
    if (!isEmpty) value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new InputError("invalid", "not-json", "the body is not JSON in UTF-8");
  }
  const decoded = schema.safeParse(value, { error: plainRule });
  if (decoded.success) return decoded.data;
  const issue = decoded.error.issues[0];
  if (issue?.code === "unrecognized_keys") {
    throw invalid([...issue.path, issue.keys[0] ?? ""].join("."), "there is no such field", "unknown-field");
  }
  const field = issue?.path.join(".") ?? "";
  const rule = issue?.message ?? "not valid";
  throw field === ""
    ? new InputError("invalid", "bad-field", `the body: ${rule}`)
    : invalid(field, rule, "bad-field");
}

/** The body as it is, of this content type and at most as large as the one limit says. Throws `InputError`. */
export async function readBytes(
  request: Pick<ApiRequest, "headers" | "arrayBuffer">,
  type: "application/json" | "application/octet-stream",
  limit: Readonly<Record<string, number>>,
): Promise<Buffer> {
  const [[name = "", bytesMax = 0] = []] = Object.entries(limit);
  const tooLarge = () =>
    new InputError("invalid", "body-too-large", `the body has more than ${bytesMax} bytes (${name})`);
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
  const bytes = Buffer.from(await request.arrayBuffer());
  if (bytes.byteLength > bytesMax) throw tooLarge();
  const given = request.headers.get("content-type");
  const isNone = given === null && bytes.byteLength === 0;
  if (!isNone && given?.split(";")[0]?.trim().toLowerCase() !== type)
    throw invalid("Content-Type", `must be ${type}`, "not-json-type");
  return bytes;
}

/** A parameter of the route, decoded by the host. */
export const routeParam = (request: Pick<ApiRequest, "params">, name: string): string =>
  request.params[name] ?? "";

/** An answer that caches must not keep, because it changes. */
export const fresh = (jsonBody: unknown, status = 200, headers = {}): ApiAnswer => ({
  status,
  headers: { "cache-control": "no-store", ...headers },
  jsonBody,
});

/** A weak ETag: the same `version` is the same answer but for what time alone changes in it. */
export const weakTag = (version: string): string =>
  `W/"${hash("sha256", version, "base64url").slice(0, 22)}"`;

/** Whether `If-None-Match`, which is `*` or a list, names the ETag. Weak tags compare like strong ones. */
export function isKnown({ headers }: Pick<ApiRequest, "headers">, etag: string): boolean {
  const bare = (tag: string): string => tag.trim().replace(/^W\//, "");
  return (headers.get("if-none-match") ?? "").split(",").some((one) => ["*", bare(etag)].includes(bare(one)));
}

/** An answer that is polled: 304 while nothing has changed since the one with this ETag. Caches must not keep it. */
export function polled(request: Pick<ApiRequest, "headers">, etag: string, body: () => unknown): ApiAnswer {
  const headers = { etag, "cache-control": "no-store" };
  return isKnown(request, etag) ? { status: 304, headers } : { status: 200, headers, jsonBody: body() };
}
