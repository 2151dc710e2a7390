import type { Client } from "../../engine/client/client.ts";
import { type AnswerSoFar, soFar } from "../../engine/client/questions/soFar.ts";
import {
  type FoundResult,
  findResult,
  findSavedFile,
  openResult,
  openSavedFile,
  sha256OfFile,
} from "../../engine/client/result.ts";
import { invalid } from "../../engine/client/runRequest.ts";
import { CorruptDataError, type InputError } from "../../engine/model/errors.ts";
import { baseContentType, mayBeShown } from "../../engine/model/resultType.ts";
import type { Manifest } from "../../engine/model/run.ts";
import {
  type ApiAnswer,
  type ApiHandler,
  type ApiRequest,
  answerBytesMax,
  isKnown,
  partBytesMax,
  queryFlag,
  queryWhole,
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
 * The result's bytes with content type, ETag (its SHA-256), `Range` and `If-None-Match`; for `HEAD` only the headers. 404
 * for an unknown run, 409 for a run without a result. With `?soFar=true` such a run answers with its partial result.
 */
export const getResult: ApiHandler = async (request, client) => {
  const generation = queryWhole(request, "generation", 999);
  if (!asksSoFar(request, generation)) {
    const found = await findResult(client, routeParam(request, "id"), { generation });
    return await giveResult(request, client, found);
  }
  const answered = await answerSoFar(request, client);
  return "status" in answered ? answered : await giveResult(request, client, { manifest: answered });
};

/** Headers of an older result: the newest generation, which has none, and how it ended. */
export const newestHeaders = ({ newest }: FoundResult): Record<string, string> =>
  newest === undefined
    ? {}
    : { "leasefold-newest-generation": String(newest.generation), "leasefold-newest-phase": newest.phase };

async function giveResult(request: ApiRequest, client: Client, found: FoundResult): Promise<ApiAnswer> {
  const { manifest } = found;
  return await giveBytes(request, {
    ...{ what: "the result", command: "leasefold result", bytes: manifest.bytes, sha256: manifest.sha256 },
    always: newestHeaders(found),
    described: { ...describeBytes(manifest), "leasefold-complete": String(manifest.complete) },
    open: async (part) => (await openResult(client, manifest, part)).body,
  });
}

/** A file that chunks saved, as `getResult` gives a result. 404 for an unknown run or file. */
export const getSavedFile: ApiHandler = async (request, client) => {
  const file = await findSavedFile(client, routeParam(request, "id"), routeParam(request, "name"));
  return await giveBytes(request, {
    ...{ what: "the file", command: "leasefold result RUN -o FOLDER/", bytes: file.bytes },
    sha256: sha256OfFile(file.name),
    // It may be of any type.
    described: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${file.name}"`,
    },
    open: (part) => openSavedFile(client, file, file, part),
  });
};

/** Bytes that never change under their hash. */
interface Given {
  readonly what: string;
  /** Reads them whatever their size. */
  readonly command: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Headers also of an answer without the bytes. */
  readonly always?: Record<string, string>;
  readonly described: Record<string, string>;
  open(part?: { readonly offset: number; readonly count: number }): Promise<AsyncIterable<Uint8Array>>;
}

async function giveBytes(request: ApiRequest, given: Given): Promise<ApiAnswer> {
  const { what, bytes } = given;
  const etag = `"${given.sha256}"`;
  const caching = { etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" };
  const headers = { ...caching, ...given.always };
  if (isKnown(request, etag)) return { status: 304, headers };

  const described = { ...headers, ...given.described };
  if (request.method === "HEAD") {
    return { status: 200, headers: { ...described, "content-length": String(bytes) } };
  }
  const range = rangeOf(rangeHeader(request, etag), bytes);
  const details = { contentRange: `bytes */${bytes}` };
  if (range.kind === "unsatisfiable") {
    throw invalid("Range", `${what} has ${bytes} bytes`, "range-not-satisfiable", details);
  }
  if (range.kind === "whole" && bytes > answerBytesMax) {
    const rest = `${what} has ${bytes}; ask for ranges, or use "${given.command}"`;
    throw tooLarge("Range", rest, details);
  }
  // The body is collected before the answer, so that a wrong hash is an error and not a broken answer.
  if (range.kind === "whole") {
    return { status: 200, headers: described, body: await collect(await given.open(), bytes) };
  }
  const { offset } = range;
  // A server may answer less than was asked for; the header says how much it is (RFC 9110, 15.3.7).
  const count = Math.min(range.count, partBytesMax);
  return {
    status: 206,
    headers: { ...described, "content-range": `bytes ${offset}-${offset + count - 1}/${bytes}` },
    body: await collect(await given.open({ offset, count }), count),
  };
}

/** Fills one buffer of the known size, so that no byte is held twice. */
async function collect(body: AsyncIterable<Uint8Array>, bytes: number): Promise<Buffer> {
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for await (const piece of body) {
    if (at + piece.byteLength <= bytes) all.set(piece, at);
    at += piece.byteLength;
  }
  if (at === bytes) return all;
  throw new CorruptDataError("result-length", `storage gave ${at} bytes of a result instead of ${bytes}`);
}

/** `If-Range` asks for the part only if the result is the same. */
function rangeHeader(request: ApiRequest, etag: string): string | null {
  const ifRange = request.headers.get("if-range");
  return ifRange === null || ifRange.trim() === etag ? request.headers.get("range") : null;
}

const tooLarge = (field: string, rest: string, details = {}): InputError =>
  invalid(
    field,
    `one answer carries at most ${answerBytesMax} bytes (answerBytesMax) and ${rest}`,
    "answer-too-large",
    details,
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
  if (!queryFlag(request, "soFar")) return false;
  if (request.method === "HEAD") throw invalid("soFar", "HEAD would compute an answer; use GET", "bad-query");
  if (generation === undefined) return true;
  throw invalid("generation", "an answer so far is always of the newest generation", "bad-query");
}

/**
 * The result that a run would have if it ended now, with the chunks it covers in headers; or the manifest of a run that
 * has its result. Waits for a worker, at most `?wait=` seconds; 504 if none answers.
 */
async function answerSoFar(request: ApiRequest, client: Client): Promise<ApiAnswer | Manifest> {
  const waitS = queryWhole(request, "wait", waitSMax);
  const options = { waitMs: waitS === undefined ? undefined : waitS * 1_000 };
  const found = await soFar(client, routeParam(request, "id"), options, async ({ bytes }, body) => {
    if (bytes > answerBytesMax)
      throw tooLarge("soFar", `this one has ${bytes}; use "leasefold result --so-far"`);
    return await collect(body, bytes);
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
