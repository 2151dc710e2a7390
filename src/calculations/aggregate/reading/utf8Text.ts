import { isUtf8 } from "node:buffer";
import { CalculationError } from "../../../model/errors.ts";

/**
 * Refuses bytes, which begin at `offset` of the file, that are not UTF-8, instead of replacing them: two keys that
 * differ only in them would become one group. Throws `CalculationError` naming the first such byte.
 */
export function requireUtf8(bytes: Uint8Array, path: string, offset: number): void {
  if (isUtf8(bytes)) return;
  const at = offset + firstReplaced(textOf(bytes, 0, bytes.length), bytes);
  const message = `${path}: byte ${at} is not UTF-8; convert the file first, for example with iconv`;
  throw new CalculationError("not-utf8", message);
}

export const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");

/** Length of a byte order mark at the start, or 0. */
export const markBytes = (bytes: Uint8Array): number =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;

const replacement = "\uFFFD";
const replacementBytes = Buffer.from(replacement);

/** Offset of the first byte for which decoding put a replacement character. The bytes may hold such characters too. */
function firstReplaced(text: string, bytes: Uint8Array): number {
  let offset = 0;
  for (let from = 0; ; from += 1) {
    const at = text.indexOf(replacement, from);
    offset += Buffer.byteLength(text.slice(from, at));
    if (at === -1 || !replacementBytes.equals(bytes.subarray(offset, offset + replacementBytes.length)))
      return offset;
    offset += replacementBytes.length;
    from = at;
  }
}
