import { ApiError, type Ask, noAnswer, persist } from "./request.ts";

/** Bytes of one part: one answer carries at most this much of a range. */
export const partBytes = 8 * 1024 * 1024;

/** Parts on their way at once, and so in memory: one connection alone is slower than storage and most networks. */
const partsAtOnce = 4;

/**
 * What `open` gives for 0, 1, … below `count`, in this order, while the next ones are on their way. The first error ends it, and
 * the signal those that are under way; so does a reader that stops.
 */
export async function* inOrder<T>(
  count: number,
  open: (index: number, signal: AbortSignal) => Promise<T>,
  { signal, atOnce = partsAtOnce }: { signal?: AbortSignal | undefined; atOnce?: number } = {},
): AsyncGenerator<T> {
  const stop = new AbortController();
  const ended = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const begun: Promise<T>[] = [];
  try {
    for (let next = 0; next < count || begun.length > 0; ) {
      for (; next < count && begun.length < atOnce; next += 1) {
        const opened = open(next, ended);
        // Of several errors the first in order is thrown.
        opened.catch(() => {});
        begun.push(opened);
      }
      yield await (begun.shift() as Promise<T>);
    }
  } finally {
    stop.abort();
    await Promise.allSettled(begun);
  }
}

/** The bytes of a result, and what their headers tell. They are read once, and an error at their end says that the hash differs. */
export interface Result extends AsyncIterable<Uint8Array<ArrayBuffer>> {
  readonly bytes: number;
  readonly contentType: string;
  /** Hex SHA-256, by which the bytes are checked. */
  readonly sha256: string;
  /** A name without any folder, or character that a file system could take for one. */
  readonly fileName: string;
  /** False if the result lacks chunks that the run tolerates. */
  readonly complete: boolean;
  readonly generation: number | undefined;
  /** All of it in memory, checked. */
  read(): Promise<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
  json<T>(): Promise<T>;
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (bytes: number) => void;
}

/** Opens a result or a file: its first part is asked for, all others when they are read. Throws `ApiError`. */
export async function download(ask: Ask, path: string, options: DownloadOptions = {}): Promise<Result> {
  const { signal, onProgress } = options;
  const askPart = (from: number, bytes: number, ended: AbortSignal | undefined, etag?: string) =>
    ask(path, {
      headers: { range: `bytes=${from}-${from + bytes - 1}`, ...(etag && { "if-range": etag }) },
      signal: ended,
    });
  const first = await persist(() => askPart(0, partBytes, signal), options).catch((error: unknown) => {
    // No byte of an empty result can be asked for.
    if (error instanceof ApiError && error.status === 416) return ask(path, { signal });
    throw error;
  });
  const { headers } = first;
  const etag = headers.get("etag") ?? "";
  const sha256 = etag.replaceAll('"', "");
  const total = Number(
    /\/(\d+)$/.exec(headers.get("content-range") ?? "")?.[1] ?? headers.get("content-length") ?? 0,
  );
  const [, name = ""] = /filename="([^"]*)"/.exec(headers.get("content-disposition") ?? "") ?? [];

  // A server may give less than it was asked for, and then it does so of each part.
  const size = Number(/-(\d+)\//.exec(headers.get("content-range") ?? "")?.[1] ?? total - 1) + 1 || 1;
  let open: Response | undefined = first;

  /** The part at `from`; the first answer is the first part, unless its connection breaks. */
  const partAt = (from: number, ended: AbortSignal) =>
    persist(
      async () => {
        const begun = from === 0 ? open : undefined;
        if (begun !== undefined) open = undefined;
        const answer = begun ?? (await askPart(from, size, ended, etag));
        if (from > 0 && answer.status !== 206) throw corrupt("the result was replaced while it was read");
        const piece = new Uint8Array(await bytesOf(answer, ended));
        if (piece.byteLength === Math.min(size, total - from)) return piece;
        throw corrupt(`the answer does not fit its ${total} bytes`);
      },
      { signal: ended },
    );

  async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const hash = await hasher();
    let at = 0;
    const parts = Math.max(1, Math.ceil(total / size));
    for await (const piece of inOrder(parts, (index, ended) => partAt(index * size, ended), { signal })) {
      at += piece.byteLength;
      hash.update(piece);
      onProgress?.(at);
      yield piece;
    }
    const found = await hash.digest();
    if (found !== sha256) throw corrupt(`the SHA-256 of the bytes is ${found} and not ${sha256}`);
  }

  const read = async () => {
    const all = new Uint8Array(total);
    let at = 0;
    for await (const piece of pieces()) {
      all.set(piece, at);
      at += piece.byteLength;
    }
    return all;
  };
  const text = async () => new TextDecoder().decode(await read());
  const generation = Number(headers.get("leasefold-generation") ?? Number.NaN);
  return {
    bytes: total,
    contentType: headers.get("content-type") ?? "application/octet-stream",
    sha256,
    fileName: name.replace(/[^\w.-]/g, "_").replace(/^\.+/, "") || "result.bin",
    complete: headers.get("leasefold-complete") !== "false",
    generation: Number.isNaN(generation) ? undefined : generation,
    read,
    text,
    json: async <T>() => JSON.parse(await text()) as T,
    [Symbol.asyncIterator]: pieces,
  };
}

/** A connection that breaks within an answer is no answer. */
const bytesOf = (answer: Response, signal: AbortSignal | undefined): Promise<ArrayBuffer> =>
  answer.arrayBuffer().catch((error: unknown) => {
    throw signal?.aborted ? error : noAnswer(error);
  });

const corrupt = (message: string): ApiError => new ApiError(message, { status: 0, code: "corrupt" });

interface Hasher {
  update(piece: Uint8Array<ArrayBuffer>): void;
  digest(): Promise<string>;
}

/** SHA-256 in hex: of a stream in Node; a browser hashes only what is in memory, and only on https and localhost. */
async function hasher(): Promise<Hasher> {
  if (globalThis.process?.versions?.node !== undefined) {
    // Bundlers of pages leave this import alone.
    const name = "node:crypto";
    const { createHash }: typeof import("node:crypto") = await import(/* @vite-ignore */ name);
    const hash = createHash("sha256");
    return { update: (piece) => void hash.update(piece), digest: async () => hash.digest("hex") };
  }
  if (globalThis.crypto.subtle === undefined)
    throw new Error("a browser hashes only on https or on this machine (localhost); use leasefold result");
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  return {
    update: (piece) => void pieces.push(piece),
    async digest() {
      const whole = await new Blob(pieces).arrayBuffer();
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
      return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
    },
  };
}
