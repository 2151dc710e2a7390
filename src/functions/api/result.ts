import type { HttpResponseInit } from "@azure/functions";
import type { Client } from "../../client/client.ts";
import { findManifest, openResult } from "../../client/result.ts";
import { InputError } from "../../model/errors.ts";
import type { Manifest } from "../../model/run.ts";
import { type ApiHandler, type ApiRequest, answerBytesMax, queryWhole, routeParam } from "./apiRequest.ts";
import { answerSoFar, asksSoFar, describeBytes } from "./soFar.ts";

/** What a `Range` header asks of a body of so many bytes. */
export type Asked =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly offset: number; readonly count: number }
  | { readonly kind: "unsatisfiable" };

/**
 * One range of bytes (RFC 9110, 14.1.2). Several ranges, other units and what does not parse are ignored, as the
 * standard allows: the whole is then the answer.
 */
export function rangeOf(header: string | null, bytes: number): Asked {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (first === "" && last === "") return { kind: "whole" };
  if (first === "") {
    const count = Math.min(Number(last), bytes);
    return count === 0 ? { kind: "unsatisfiable" } : { kind: "part", offset: bytes - count, count };
  }
  const offset = Number(first);
  if (last !== "" && Number(last) < offset) return { kind: "whole" };
  if (offset >= bytes) return { kind: "unsatisfiable" };
  const end = last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return { kind: "part", offset, count: end - offset + 1 };
}

/**
 * The result's bytes with content type, ETag (its SHA-256), `Range` and `If-None-Match`. 404 for an unknown run,
 * 409 for one that has no result or none yet. With `?soFar=true` a run at work answers with what it has.
 */
export const getResult: ApiHandler = async (request, client) => {
  const generation = queryWhole(request, "generation", 999);
  if (!asksSoFar(request, generation)) {
    const manifest = await findManifest(client, routeParam(request, "id"), { generation });
    return await giveResult(request, client, manifest);
  }
  const told = await answerSoFar(request, client);
  return "status" in told ? told : await giveResult(request, client, told);
};

async function giveResult(
  request: ApiRequest,
  client: Client,
  manifest: Manifest,
): Promise<HttpResponseInit> {
  const etag = `"${manifest.sha256}"`;
  const headers = { etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" };
  if (names(request.headers.get("if-none-match"), etag)) return { status: 304, headers };

  const range = rangeOf(rangeHeader(request, etag), manifest.bytes);
  if (range.kind === "unsatisfiable") throw unsatisfiable(manifest);
  const part = range.kind === "part" ? { offset: range.offset, count: range.count } : {};
  if ((part.count ?? manifest.bytes) > answerBytesMax) throw tooLarge(manifest);
  const { body } = await openResult(client, manifest, part);
  // Collected here, so that a hash that does not fit is an error and not a broken answer.
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return {
    status: range.kind === "part" ? 206 : 200,
    headers: {
      ...headers,
      ...describeBytes(manifest),
      ...contentRange(part, manifest),
      "leasefold-complete": String(manifest.complete),
    },
    body: Buffer.concat(pieces),
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
