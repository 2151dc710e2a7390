import type { HttpResponseInit } from "@azure/functions";
import { findManifest, openResult } from "../../client/result.ts";
import { InputError } from "../../model/errors.ts";
import { baseContentType } from "../../model/output.ts";
import type { Manifest } from "../../model/run.ts";
import { type ApiHandler, type ApiRequest, queryWhole, routeParam } from "./apiRequest.ts";
import { rangeOf } from "./range.ts";

/** The host holds a whole answer in memory, beside a leader's and a worker's work; larger ones go by `Range`. */
export const answerBytesMax = 64 * 1024 * 1024;

/**
 * The result's bytes with content type, ETag (its SHA-256), `Range` and `If-None-Match`. 404 for an unknown run,
 * 409 for one that has no result or none yet.
 */
export const getResult: ApiHandler = async (request, client) => {
  const generation = queryWhole(request, "generation", 999);
  const manifest = await findManifest(client, routeParam(request, "id"), { generation });
  const etag = `"${manifest.sha256}"`;
  const headers = { etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" };
  if (names(request.headers.get("if-none-match"), etag)) return { status: 304, headers };

  const asked = rangeOf(rangeHeader(request, etag), manifest.bytes);
  if (asked.kind === "unsatisfiable") throw unsatisfiable(manifest);
  const part = asked.kind === "part" ? { offset: asked.offset, count: asked.count } : {};
  if ((part.count ?? manifest.bytes) > answerBytesMax) throw tooLarge(manifest);
  const { body } = await openResult(client, manifest, part);
  // Collected here, so that a hash that does not fit is an error and not a broken answer.
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return {
    status: asked.kind === "part" ? 206 : 200,
    headers: { ...headers, ...describe(manifest), ...contentRange(part, manifest) },
    body: Buffer.concat(pieces),
  } satisfies HttpResponseInit;
};

function describe(manifest: Manifest): Record<string, string> {
  const extension = /\.([A-Za-z0-9]+)$/.exec(manifest.blob)?.[1] ?? "bin";
  // JSON is UTF-8 by definition; any other type is given as the calculation named it.
  const isJson = baseContentType(manifest.contentType) === "application/json";
  return {
    "content-type": isJson ? "application/json" : manifest.contentType,
    "content-disposition": `inline; filename="${manifest.run}.${extension}"`,
    "leasefold-complete": String(manifest.complete),
    "leasefold-generation": String(manifest.generation),
  };
}

function contentRange(part: { offset?: number; count?: number }, manifest: Manifest): Record<string, string> {
  const { offset, count } = part;
  if (offset === undefined || count === undefined) return {};
  return { "content-range": `bytes ${offset}-${offset + count - 1}/${manifest.bytes}` };
}

/** `If-Range` asks for the part only of the very same result. */
function rangeHeader(request: ApiRequest, etag: string): string | null {
  const ifRange = request.headers.get("if-range");
  return ifRange === null || ifRange.trim() === etag ? request.headers.get("range") : null;
}

/** `If-None-Match` is `*` or a list; weak tags compare like strong ones here. */
const names = (header: string | null, etag: string): boolean =>
  (header ?? "").split(",").some((one) => ["*", etag].includes(one.trim().replace(/^W\//, "")));

const unsatisfiable = (manifest: Manifest): InputError =>
  new InputError("invalid", "range-not-satisfiable", `Range: the result has ${manifest.bytes} bytes`, {
    field: "Range",
    contentRange: `bytes */${manifest.bytes}`,
  });

const tooLarge = (manifest: Manifest): InputError =>
  new InputError(
    "invalid",
    "answer-too-large",
    `Range: one answer carries at most ${answerBytesMax} bytes (answerBytesMax) and the result has ` +
      `${manifest.bytes}; ask for ranges, or use "leasefold result"`,
    { field: "Range" },
  );
