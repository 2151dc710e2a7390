import type { Field } from "../records.ts";
import { decodeText, type ParseBatch, type ParsedBatch } from "./parsedBatch.ts";
import { readLimits } from "./readParams.ts";

const { nestingMax } = readLimits;

/**
 * Parses one JSON object per line; of other columns than the wanted ones nothing is kept. A missing one is `null`; those
 * that a record has are taken out of `absent`.
 */
export const ndjsonParser =
  (path: string, wanted: readonly string[], absent: Set<string>): ParseBatch =>
  (bytes, offset) => {
    const rows: (readonly Field[])[] = [];
    const places: number[] = [];
    const misfits: ParsedBatch["misfits"] = [];
    let text = decodeText(bytes, path, offset);
    if (offset === 0 && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    let from = 0;
    for (let place = 0; from < text.length; place += 1) {
      const end = text.indexOf("\n", from);
      const line = text.slice(from, end === -1 ? text.length : end);
      from = end === -1 ? text.length : end + 1;
      if (isBlank(line)) continue;
      const record = parseObject(line);
      if (record === undefined) {
        misfits.push({ place, what: "is not a JSON object" });
        continue;
      }
      const fields = wanted.map((name) => (Object.hasOwn(record, name) ? record[name] : null));
      const deep = fields.findIndex((field) => nestsDeeper(field, nestingMax));
      if (deep !== -1) {
        misfits.push({ place, what: `nests ${wanted[deep]} deeper than ${nestingMax} levels` });
        continue;
      }
      rows.push(fields.map(fieldOf));
      places.push(place);
      for (const name of absent) if (Object.hasOwn(record, name)) absent.delete(name);
    }
    return { rows, places, misfits, offsetOf: (place) => lineOffset(bytes, place) };
  };

/** White space that JSON allows, which a file may end with. */
const isBlank = (line: string): boolean => /^[ \t\r]*$/.test(line);

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isNested(value) && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The same on every machine: how deep a value may be before it overflows the stack depends on the stack. */
function nestsDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === levels) return true;
    level = level.flatMap((one) => Object.values(one).filter(isNested));
  }
  return false;
}

const isNested = (value: unknown): value is object => value !== null && typeof value === "object";

const fieldOf = (value: unknown): Field => (isNested(value) ? JSON.stringify(value) : (value as Field));

function lineOffset(bytes: Uint8Array, place: number): number {
  let at = 0;
  for (let left = place; left > 0; left -= 1) at = bytes.indexOf(0x0a, at) + 1;
  return at;
}
