import { dsvFormat } from "d3-dsv";
import type { Field } from "../records.ts";
import { decodeText, type ParseBatch, type ParsedBatch } from "./parsedBatch.ts";

/**
 * Parses CSV with d3-dsv, which ends records at LF, CRLF and CR alike and gives each as it is, whatever its number of
 * fields. `places` are those of the wanted columns among `columns` fields.
 */
export function csvParser(
  path: string,
  delimiter: string,
  columns: number,
  wanted: readonly number[],
): ParseBatch {
  const { parseRows } = dsvFormat(delimiter);
  return (bytes, offset) => {
    const rows: (readonly Field[])[] = [];
    const places: number[] = [];
    const misfits: ParsedBatch["misfits"] = [];
    parseRows(decodeText(bytes, path, offset), (fields, place) => {
      if (fields.length === columns && (columns > 1 || fields[0] !== "")) {
        rows.push(wanted.map((at) => fields[at] || null));
        places.push(place);
      } else if (fields.length > 1 || fields[0] !== "") {
        misfits.push({
          place,
          what: `has ${fields.length} field${fields.length === 1 ? "" : "s"}, not ${columns}`,
        });
      }
      return null;
    });
    return { rows, places, misfits, offsetOf: (place) => csvOffset(bytes, delimiter, place) };
  };
}

/** Fields of each record, for a header. */
export const csvFields = (text: string, delimiter: string): string[][] =>
  dsvFormat(delimiter).parseRows(text);

/** Where record `place` begins, counted as d3-dsv counts them: also empty lines, and lines that end with CR. */
function csvOffset(bytes: Uint8Array, delimiter: string, place: number): number {
  const comma = delimiter.charCodeAt(0);
  let quoted = false;
  let fieldStart = true;
  let left = place;
  for (let at = 0; at < bytes.length; at += 1) {
    if (left === 0) return at;
    const byte = bytes[at];
    if (byte === 0x22 && (quoted || fieldStart)) {
      // An escaped quote closes and opens again.
      quoted = !quoted;
      fieldStart = !quoted;
      continue;
    }
    const line = byte === 0x0a || (byte === 0x0d && bytes[at + 1] !== 0x0a);
    fieldStart = line || byte === comma;
    if (line && !quoted) left -= 1;
  }
  return bytes.length;
}
