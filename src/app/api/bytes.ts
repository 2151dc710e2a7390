import { invalid } from "../../engine/client/runRequest.ts";
import { CorruptDataError, type InputError } from "../../engine/model/errors.ts";
import { type ApiAnswer, type ApiRequest, answerBytesMax, isKnown, partBytesMax } from "./apiRequest.ts";

/** What the answer of bytes depends on. */
export type Sent = Pick<ApiRequest, "method" | "headers">;

/** The bytes that a `Range` header asks for. */
type Ranged =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly offset: number; readonly count: number }
  | { readonly kind: "unsatisfiable" };

/**
 * Parses one range of bytes (RFC 9110, 14.1.2) of a body. Several ranges, other units and malformed headers are ignored, as
 * the standard allows.
 */
export function rangeOf(header: string | null, bytes: number): Ranged {
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

export async function giveBytes(request: Sent, given: Given): Promise<ApiAnswer> {
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
export async function collect(body: AsyncIterable<Uint8Array>, bytes: number): Promise<Buffer> {
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
function rangeHeader(request: Sent, etag: string): string | null {
  const ifRange = request.headers.get("if-range");
  return ifRange === null || ifRange.trim() === etag ? request.headers.get("range") : null;
}

export const tooLarge = (field: string, rest: string, details = {}): InputError =>
  invalid(
    field,
    `one answer carries at most ${answerBytesMax} bytes (answerBytesMax) and ${rest}`,
    "answer-too-large",
    details,
  );
