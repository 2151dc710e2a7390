import type { HttpResponseInit } from "@azure/functions";
import type { Client } from "../../client/client.ts";
import { type AnswerSoFar, soFar } from "../../client/questions/soFar.ts";
import { findManifest, openResult } from "../../client/result.ts";
import type { InputError } from "../../model/errors.ts";
import { baseContentType, mayBeShown } from "../../model/resultType.ts";
import type { Manifest } from "../../model/run.ts";
import {
  type ApiHandler,
  type ApiRequest,
  answerBytesMax,
  queryWhole,
  refused,
  routeParam,
} from "./apiRequest.ts";

/** The bytes that a `Range` header asks for. */
type Asked =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly offset: number; readonly count: number }
  | { readonly kind: "unsatisfiable" };

/**
 * Parses one range of bytes (RFC 9110, 14.1.2) of a body. Several ranges, other units and malformed headers are ignored, as
 * the standard allows.
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
 * The result's bytes with content type, ETag (its SHA-256), `Range` and `If-None-Match`. 404 for an unknown run, 409 for
 * a run without a result. With `?soFar=true` an active run answers with its partial result.
 */
export const getResult: ApiHandler = async (request, client) => {
  const generation = queryWhole(request, "generation", 999);
  if (!asksSoFar(request, generation)) {
    const manifest = await findManifest(client, routeParam(request, "id"), { generation });
    return await giveResult(request, client, manifest);
  }
  const answered = await answerSoFar(request, client);
  return "status" in answered ? answered : await giveResult(request, client, answered);
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
  if (range.kind === "unsatisfiable") {
    const details = { contentRange: `bytes */${manifest.bytes}` };
    throw refused("range-not-satisfiable", "Range", `the result has ${manifest.bytes} bytes`, details);
  }
  const part = range.kind === "part" ? { offset: range.offset, count: range.count } : undefined;
  if ((part?.count ?? manifest.bytes) > answerBytesMax) {
    throw tooLarge("Range", `the result has ${manifest.bytes}; ask for ranges, or use "leasefold result"`);
  }
  const contentRange = part && `bytes ${part.offset}-${part.offset + part.count - 1}/${manifest.bytes}`;
  // The body is collected before the answer, so that a wrong hash is an error and not a broken answer.
  const body = await collect((await openResult(client, manifest, part ?? {})).body);
  return {
    status: part === undefined ? 200 : 206,
    headers: {
      ...headers,
      ...describeBytes(manifest),
      ...(contentRange === undefined ? {} : { "content-range": contentRange }),
      "leasefold-complete": String(manifest.complete),
    },
    body,
  };
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** `If-Range` asks for the part only if the result is the same. */
function rangeHeader(request: ApiRequest, etag: string): string | null {
  const ifRange = request.headers.get("if-range");
  return ifRange === null || ifRange.trim() === etag ? request.headers.get("range") : null;
}

/** Whether `If-None-Match`, which is `*` or a list, names the ETag; weak tags compare like strong ones here. */
const names = (header: string | null, etag: string): boolean =>
  (header ?? "").split(",").some((one) => ["*", etag].includes(one.trim().replace(/^W\//, "")));

const tooLarge = (field: string, rest: string): InputError =>
  refused(
    "answer-too-large",
    field,
    `one answer carries at most ${answerBytesMax} bytes (answerBytesMax) and ${rest}`,
  );

/** Content type, file name and generation of a result or of an answer so far. */
function describeBytes({
  run,
  blob,
  contentType,
  generation,
}: Pick<Manifest, "run" | "blob" | "contentType" | "generation">): Record<string, string> {
  const extension = /\.([A-Za-z0-9]+)$/.exec(blob)?.[1] ?? "bin";
  // JSON is UTF-8 by definition; any other type is sent as the calculation named it.
  const isJson = baseContentType(contentType) === "application/json";
  return {
    "content-type": isJson ? "application/json" : contentType,
    // A page or picture with a script, opened from this origin, could reach the function key.
    "content-disposition": `${mayBeShown(contentType) ? "inline" : "attachment"}; filename="${run}.${extension}"`,
    "leasefold-generation": String(generation),
  };
}

/** Azure's front end ends a request after 230 s. */
const waitSMax = 200;

/** Characters of the header that lists ranges; more are cut off, while the number of chunks stays exact. */
const coversCharactersMax = 2_000;

/** Whether the query says `soFar=true`, which excludes `generation`. */
function asksSoFar(request: ApiRequest, generation: number | undefined): boolean {
  const text = request.query.get("soFar") ?? "false";
  if (text === "false") return false;
  if (text !== "true") throw refused("bad-query", "soFar", `${text} is neither true nor false`);
  if (generation === undefined) return true;
  throw refused("bad-query", "generation", "an answer so far is always of the newest generation");
}

/**
 * The result that an active run would have if it ended now, with the chunks it covers in headers; or the manifest of a run
 * that has its result. Waits for a worker, at most `?wait=` seconds; 504 if none answers.
 */
async function answerSoFar(
  request: ApiRequest,
  client: Client,
): Promise<(HttpResponseInit & { readonly status: number }) | Manifest> {
  const waitS = queryWhole(request, "wait", waitSMax);
  const options = { waitMs: waitS === undefined ? undefined : waitS * 1_000 };
  const found = await soFar(client, routeParam(request, "id"), options, async ({ bytes }, body) => {
    if (bytes > answerBytesMax)
      throw tooLarge("soFar", `this one has ${bytes}; use "leasefold result --so-far"`);
    return await collect(body);
  });
  if (found.kind === "finished") return found.manifest;
  const { answer, value: body } = found;
  return {
    status: 200,
    headers: { "cache-control": "no-store", ...describeBytes(answer), ...covers(answer) },
    body,
  };
}

const covers = (answer: AnswerSoFar): Record<string, string> => ({
  "leasefold-complete": "false",
  "leasefold-chunks": `${answer.folded}/${answer.chunks}`,
  "leasefold-covers": rangesOf(answer),
});

/** `0-99,200-222`, with the last chunk of each range included. */
function rangesOf({ covers }: AnswerSoFar): string {
  const text = covers.map(({ from, to }) => `${from}-${to - 1}`).join(",");
  if (text.length <= coversCharactersMax) return text;
  return `${text.slice(0, text.lastIndexOf(",", coversCharactersMax))},...`;
}
