import { isUtf8 } from "node:buffer";
import { CalculationError } from "../../../model/errors.ts";
import type { Field } from "../records.ts";

/** Records parsed of one batch, before anything is handed over. */
export interface ParsedBatch {
  readonly rows: (readonly Field[])[];
  /** Place of each row among the records of the batch, empty lines included. */
  readonly places: number[];
  /** Records that do not fit: their places, and what is wrong with them. */
  readonly misfits: { readonly place: number; readonly what: string }[];
  /** Byte offset of the record at a place, from the begin of the batch. */
  offsetOf(place: number): number;
}

/** Parses the whole records of one batch; `offset` is that of its first byte in the file. */
export type ParseBatch = (bytes: Uint8Array, offset: number) => ParsedBatch;

/**
 * Text of UTF-8 bytes that begin at `offset` of the file. Bytes that are not UTF-8 are refused, not replaced: two keys
 * that differ only in them would become one group. Throws `CalculationError` naming the first such byte.
 */
export function decodeText(bytes: Uint8Array, path: string, offset: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  if (isUtf8(bytes)) return text;
  throw new CalculationError(
    "not-utf8",
    `${path}: byte ${offset + firstReplaced(text, bytes)} is not UTF-8; convert the file first, for example with iconv`,
  );
}

const replacement = "\uFFFD";
const replacementBytes = Buffer.from(replacement);

/** The first place where decoding put a replacement character that the bytes do not hold. */
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
