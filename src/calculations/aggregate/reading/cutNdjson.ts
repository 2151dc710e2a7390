import { parseHeld } from "../../../model/heldNumbers.ts";
import { type Cells, type CutBatch, type Misfit, rawCell } from "../cells/cells.ts";
import { aggregateLimits } from "../limits.ts";
import type { Field } from "../records.ts";
import { CutKernel } from "./cutKernel.ts";
import { markBytes, textOf } from "./utf8Text.ts";

const [lineFeed, letterT, letterF] = [0x0a, 0x74, 0x66] as const;
const { nestingMax } = aggregateLimits;

/**
 * Reads one JSON object per line. A plain one is cut on bytes, and JSON.parse reads any other. A number that no double
 * holds is its text, also within a nested value. A missing column is `null`; the columns of a record are removed from
 * `absent`.
 */
export function ndjsonCutter(wanted: readonly string[], absent: Set<string>): CutBatch {
  const kernel = new CutKernel({ width: wanted.length, table: nameTable(wanted), task: [] });
  return (cells) => {
    const { bytes } = cells;
    kernel.begin(cells);
    const misfits: Misfit[] = [];
    for (let at = cells.offset === 0 ? markBytes(bytes) : 0; at < bytes.length; ) {
      const first = cells.rows * cells.width;
      at = kernel.cut("cutObjects", cells, at);
      if (kernel.hasRaw) readRaw(cells, first);
      if (kernel.stopped === undefined) continue;
      const line = bytes.indexOf(lineFeed, at);
      const what = readLine(textOf(bytes, at, line), cells, cells.open(at));
      if (what !== undefined) misfits.push({ at, what });
      at = line + 1;
    }
    if (absent.size > 0) {
      for (const [place, name] of wanted.entries()) if (kernel.hasHad(place)) absent.delete(name);
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

/** For each wanted name where its bytes begin in the table, and how many they are. */
function nameTable(wanted: readonly string[]): Uint8Array {
  // A name with an unpaired surrogate is never plain bytes, and no name of a line has a negative length.
  const names = wanted.map((name) => (name.isWellFormed() ? Buffer.from(name) : undefined));
  const entries = new Int32Array(wanted.length * 2);
  let at = entries.byteLength;
  for (const [place, name] of names.entries()) {
    entries.set([at, name?.length ?? -1], place * 2);
    at += name?.length ?? 0;
  }
  return Buffer.concat([new Uint8Array(entries.buffer), ...names.filter((name) => name !== undefined)]);
}

/** Reads the raw cells from the `first` on: truth values, and strings with an escape. */
function readRaw(cells: Cells, first: number): void {
  const { bytes, kinds, starts, ends } = cells;
  for (let cell = first; cell < cells.rows * cells.width; cell++) {
    if (kinds[cell] !== rawCell) continue;
    const start = starts[cell] as number;
    const byte = bytes[start];
    if (byte === letterT || byte === letterF) cells.putValue(cell, byte === letterT);
    else cells.putValue(cell, JSON.parse(textOf(bytes, start, ends[cell] as number)) as string);
  }
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseHeld(line);
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
