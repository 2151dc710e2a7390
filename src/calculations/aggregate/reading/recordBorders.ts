import { CalculationError } from "../../../model/errors.ts";
import { readLimits } from "./readParams.ts";

const { recordBytesMax } = readLimits;

/** Finds where records begin, in one pass over the bytes of a file, in order and in pieces of any size. */
export interface RecordBorders {
  /** Takes the next bytes and gives the offsets in the file at which a record begins, each `stride` or more after the last. */
  push(bytes: Uint8Array): number[];
  /**
   * No more bytes, or no more that are wanted (`cut`), because a line feed was taken for the end of a record. Throws
   * `CalculationError` where a quoted field is still open.
   */
  end(cut?: boolean): void;
}

interface BorderOptions {
  /** For messages. */
  readonly path: string;
  /** Offset of the first byte pushed, where a record begins. */
  readonly from: number;
  readonly stride: number;
  /** Of CSV; without it every line feed ends a record. */
  readonly delimiter?: string | undefined;
}

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * A record ends with a line feed outside quotes. A quote opens a field only as its first byte and closes it only
 * before a delimiter, a line end or the end of the file; elsewhere in a field without quotes it is text (RFC 4180,
 * section 2, and what parsers make of its silence). Only quotes are looked at one by one, so that this is many times
 * faster than parsing.
 *
 * Throws `CalculationError`, naming offsets, on text after a closing quote and on a record above the limit.
 */
export function recordBorders({ path, from, stride, delimiter }: BorderOptions): RecordBorders {
  const comma = delimiter?.charCodeAt(0);
  const endsField = (byte: number | undefined): boolean =>
    byte === comma || byte === lineFeed || byte === carriageReturn;

  let at = from;
  let last = lineFeed;
  let state = outside;
  let opened = from;
  let target = from + stride;

  /** Takes the next bytes as `text`. Places count from its begin here: small integers are what makes it fast. */
  const scan = (text: string, found: number[]): void => {
    const end = text.length;
    let now = state;
    let open = opened - at;
    let wanted = target - at;
    /** The next line feed known; where it lies before the place asked for, the next one is looked for. */
    let line = -1;
    for (let here = 0; here < end; ) {
      if (now === inside) {
        const next = placeOf('"', text, here);
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
        const next = comma === undefined ? end : placeOf('"', text, here);
        while (next >= wanted) {
          const first = Math.max(here, wanted - 1);
          if (line < first) line = placeOf("\n", text, first);
          const place = Math.min(line, next);
          if (place - wanted > recordBytesMax)
            throw tooLong(path, `after byte ${at + wanted} no record ends`);
          if (place === next) break;
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

  return {
    push(bytes) {
      const found: number[] = [];
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let place = 0; place < bytes.length; place += scanBytes)
        scan(buffer.toString("latin1", place, place + scanBytes), found);
      return found;
    },
    end(cut = false) {
      if (state !== inside) return;
      const why = cut
        ? `the field that opens at byte ${opened} holds a line break or is never closed; leave out quotedNewlines=false`
        : `the quote at byte ${opened} is never closed`;
      throw new CalculationError("open-quote", `${path}: ${why}`);
    },
  };

  function trailing(place: number, open: number): CalculationError {
    return new CalculationError(
      "bad-csv",
      `${path}: byte ${place} follows the closing quote of the field that opens at byte ${open}; only a delimiter or a line end may`,
    );
  }
}

/** Whether a quoted field is open; `closing`: a quote was seen in it, and the next byte tells whether it ends there. */
const outside = 0;
const inside = 1;
const closing = 2;

export const tooLong = (path: string, what: string): CalculationError =>
  new CalculationError(
    "record-too-long",
    `${path}: ${what} within ${recordBytesMax / 1024 ** 2} MB, the limit of a record`,
  );

/** Taken as text at once, one character a byte: in that `indexOf` is fast however near the next place is. */
const scanBytes = 64 * 1024;

/** The first place of `one` at `from` or after it, or the end. */
function placeOf(one: string, text: string, from: number): number {
  const place = text.indexOf(one, from);
  return place === -1 ? text.length : place;
}
