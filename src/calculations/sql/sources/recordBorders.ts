import { CalculationError } from "../../../model/errors.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { recordBytesMax } = sourceLimits;

interface BorderOptions {
  /** For messages. */
  readonly path: string;
  /** Offset of the first byte pushed, where a record begins. */
  readonly from: number;
  readonly stride: number;
  /** For CSV; without it every line feed ends a record. */
  readonly delimiter?: string | undefined;
}

export const [quote, lineFeed, carriageReturn] = [0x22, 0x0a, 0x0d];

/**
 * Finds where records begin, in one pass over the bytes of a file in pieces of any size. A record ends with a line feed
 * outside quotes. A quote opens a field only as its first byte and closes it only before a delimiter, a line end or the
 * end of the file; within an unquoted field it is text (RFC 4180, section 2, and common practice where that is silent).
 * Only quotes are visited one by one, so this is many times faster than parsing.
 *
 * Throws `CalculationError`, naming offsets, for text after a closing quote and for a record above the limit.
 */
export function recordBorders({ path, from, stride, delimiter }: BorderOptions) {
  const comma = delimiter?.charCodeAt(0);
  const endsField = (byte: number | undefined): boolean =>
    byte === comma || byte === lineFeed || byte === carriageReturn;

  let at = from;
  let last = lineFeed;
  let state = outside;
  let opened = from;
  let target = from + stride;

  /** Scans the next bytes as `text`. Positions count from its start, because small integers are fast. */
  const scan = (text: string, found: number[]): void => {
    const end = text.length;
    let now = state;
    let open = opened - at;
    let wanted = target - at;
    /** The last line feed found; it is searched anew when the scan has passed it. */
    let line = -1;
    for (let here = 0; here < end; ) {
      if (now === inside) {
        const next = indexIn('"', text, here);
        if (next - open > recordBytesMax) throw tooLong(path, `the quote at byte ${at + open} is not closed`);
        if (next < end) now = closing;
        here = next + 1;
      } else if (now === closing) {
        const byte = text.charCodeAt(here);
        if (byte === quote) {
          now = inside;
          here += 1;
        } else {
          if (!endsField(byte)) throw trailing(at + here, at + open);
          now = outside;
        }
      } else {
        const next = indexIn('"', text, here);
        while (next >= wanted) {
          const first = Math.max(here, wanted - 1);
          if (line < first) line = indexIn("\n", text, first);
          const nearest = Math.min(line, next);
          if (nearest - wanted > recordBytesMax)
            throw tooLong(path, `after byte ${at + wanted} no record ends`);
          if (nearest === next) break;
          found.push(at + line + 1);
          wanted = line + 1 + stride;
        }
        if (next < end && endsField(next === 0 ? last : text.charCodeAt(next - 1))) {
          now = inside;
          open = next;
        }
        here = next + 1;
      }
    }
    last = text.charCodeAt(end - 1);
    state = now;
    opened = at + open;
    target = at + wanted;
    at += end;
  };

  /** The same for bytes without a quote: most lines are not even visited. */
  const scanLines = (bytes: Buffer, found: number[]): void => {
    for (let line = 0; line !== -1; ) {
      const wanted = target - at;
      line = wanted > bytes.length ? -1 : bytes.indexOf(lineFeed, Math.max(0, wanted - 1));
      const nearest = line === -1 ? bytes.length : line;
      if (nearest - wanted > recordBytesMax) throw tooLong(path, `after byte ${target} no record ends`);
      if (line === -1) break;
      found.push(at + line + 1);
      target = at + line + 1 + stride;
    }
    last = bytes.at(-1) ?? last;
    at += bytes.length;
  };

  return {
    /** Scans the next bytes and returns the file offsets at which a record begins, each `stride` or more after the last. */
    push(bytes: Uint8Array): number[] {
      const found: number[] = [];
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      if (comma === undefined || (state === outside && !buffer.includes(quote))) {
        scanLines(buffer, found);
        return found;
      }
      for (let start = 0; start < bytes.length; start += scanBytes)
        scan(buffer.toString("latin1", start, start + scanBytes), found);
      return found;
    },
    /** Throws `CalculationError` if a quoted field is still open at the end of the file. */
    end(): void {
      if (state !== inside) return;
      throw new CalculationError("open-quote", `${path}: the quote at byte ${opened} is never closed`);
    },
  };

  function trailing(byte: number, open: number): CalculationError {
    return new CalculationError(
      "bad-csv",
      `${path}: byte ${byte} follows the closing quote of the field that opens at byte ${open}; only a delimiter or a line end may`,
    );
  }
}

/** States of the scan. `closing`: a quote was found in a quoted field, and the next byte tells whether it ends there. */
const outside = 0;
const inside = 1;
const closing = 2;

const tooLong = (path: string, what: string): CalculationError =>
  new CalculationError(
    "record-too-long",
    `${path}: ${what} within ${recordBytesMax / 1024 ** 2} MB, the limit of a record`,
  );

/** Bytes scanned at once as latin1 text, in which `indexOf` is fast even if the next match is near. */
const scanBytes = 64 * 1024;

/** Index of the next `character` from `from` on, or the length of the text. */
function indexIn(character: string, text: string, from: number): number {
  const index = text.indexOf(character, from);
  return index === -1 ? text.length : index;
}
