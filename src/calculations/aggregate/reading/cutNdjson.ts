import type { Cells, CutBatch, Misfit } from "../cells/cells.ts";
import { aggregateLimits } from "../limits.ts";
import type { Field } from "../records.ts";
import { withHeldNumbers } from "../wholeNumbers.ts";
import { ObjectScanner, unusual } from "./scanObject.ts";
import { markBytes, textOf } from "./utf8Text.ts";

const lineFeed = 0x0a;
const { nestingMax } = aggregateLimits;

/**
 * Reads one JSON object per line. A plain one is cut on bytes, and JSON.parse reads any other. A number that no double
 * holds is its text, also within a nested value. A missing column is `null`; the columns of a record are removed from
 * `absent`.
 */
export function ndjsonCutter(wanted: readonly string[], absent: Set<string>): CutBatch {
  const scanner = new ObjectScanner(wanted);
  return (cells) => {
    const { bytes } = cells;
    scanner.begin(bytes);
    const misfits: Misfit[] = [];
    for (let at = cells.offset === 0 ? markBytes(bytes) : 0; at < bytes.length; ) {
      const first = cells.open(at);
      const end = scanner.scan(cells, first, at);
      if (end !== unusual) {
        cells.rows += 1;
        if (absent.size > 0) scanner.removeFrom(absent);
        at = end;
        continue;
      }
      const line = bytes.indexOf(lineFeed, at);
      const what = readLine(textOf(bytes, at, line), cells, first);
      if (what !== undefined) misfits.push({ at, what });
      at = line + 1;
    }
    return misfits;
  };

  /** Adds a row, or says what is wrong with the line. Nothing is wrong with an empty one. */
  function readLine(line: string, cells: Cells, first: number): string | undefined {
    if (/^[ \t\r]*$/.test(line)) return undefined;
    const record = parseObject(line);
    if (record === undefined) return "is not a JSON object";
    const fields = wanted.map((name) => (Object.hasOwn(record, name) ? record[name] : null));
    const deep = fields.findIndex((field) => nestsDeeper(field, nestingMax));
    if (deep !== -1) return `nests ${wanted[deep]} deeper than ${nestingMax} levels`;
    for (const [place, field] of fields.entries()) cells.putValue(first + place, fieldOf(field));
    cells.rows += 1;
    for (const name of absent) if (Object.hasOwn(record, name)) absent.delete(name);
    return undefined;
  }
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    const held = withHeldNumbers(line);
    const value: unknown = held === line ? parsed : JSON.parse(held);
    return isNested(value) && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Gives the same answer on every machine, while the depth that overflows the stack depends on the stack. */
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
