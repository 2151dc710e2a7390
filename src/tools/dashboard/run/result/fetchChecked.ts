import type { Api } from "../../data/api.ts";

/** One answer carries at most this much; a larger result is read in parts. */
const partBytes = 8 * 1024 * 1024;
/** A result is hashed as a whole in memory, which a browser tab has only so much of. */
const checkedBytesMax = 256 * 1024 * 1024;

export type CheckedBytes = Awaited<ReturnType<typeof fetchChecked>>;

/** Reads a result or a file in parts of one ETag and compares its SHA-256 with what it must be. Throws what `ask` throws. */
export async function fetchChecked(
  api: Pick<Api, "ask">,
  path: string,
  { bytes: total, sha256 }: { readonly bytes: number; readonly sha256: string },
  options: { readonly signal: AbortSignal; readonly onProgress?: (bytes: number) => void },
) {
  if (!canHash()) throw new Error(noHashText);
  if (total > checkedBytesMax)
    throw new Error(`a browser checks at most ${checkedBytesMax} bytes; use leasefold result`);
  const bytes = new Uint8Array(total);
  let at = 0;
  let answer: Response;
  let etag = "";
  do {
    const ranged = total > partBytes;
    const headers = ranged
      ? {
          range: `bytes=${at}-${Math.min(at + partBytes, total) - 1}`,
          ...(etag === "" ? {} : { "if-range": etag }),
        }
      : {};
    answer = await api.ask(path, { headers, signal: options.signal });
    etag = answer.headers.get("etag") ?? "";
    const part = new Uint8Array(await answer.arrayBuffer());
    if (ranged && answer.status !== 206) at = 0;
    if (at + part.byteLength > total || (part.byteLength === 0 && total > 0))
      throw new Error(`the answer does not fit the ${total} bytes of the manifest`);
    bytes.set(part, at);
    at += part.byteLength;
    options.onProgress?.(at);
  } while (at < total);
  const found = await sha256Of(bytes);
  return {
    bytes,
    contentType: answer.headers.get("content-type") ?? "application/octet-stream",
    fileName: fileNameOf(answer.headers.get("content-disposition")) ?? "result.bin",
    sha256: found,
    /** Whether the hash is the manifest's. */
    equal: found === sha256,
  };
}

export const canHash = (): boolean => globalThis.crypto?.subtle !== undefined;

const noHashText =
  "this browser hashes only on https or on this machine (localhost); use leasefold result, which checks too";

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The name without any folder or character that a file system could take for one. */
export function fileNameOf(disposition: string | null): string | undefined {
  const [, name] = /filename="([^"]*)"/.exec(disposition ?? "") ?? [];
  const safe = name?.replace(/[^\w.-]/g, "_").replace(/^\.+/, "");
  return safe === undefined || safe === "" ? undefined : safe;
}
