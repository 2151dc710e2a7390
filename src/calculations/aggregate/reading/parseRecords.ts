import { isUtf8 } from "node:buffer";
import { dsvFormat } from "d3-dsv";
import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import type { Field, Row } from "../records.ts";
import { withHeldNumbers } from "../wholeNumbers.ts";
import type { CsvFormat } from "./readParams.ts";

/** The records of one batch. An index counts the records of the batch from 0, empty lines included. */
interface ParsedBatch {
  readonly rows: Row[];
  /** Index of each row. */
  readonly indexes: number[];
  /** Records that do not fit, and what is wrong with them. */
  readonly misfits: { readonly index: number; readonly what: string }[];
  /** Byte offset of the record at an index, from the start of the batch. */
  offsetOf(index: number): number;
}

/** Parses the whole records of one batch; `offset` is that of its first byte in the file. */
export type ParseBatch = (bytes: Uint8Array, offset: number) => ParsedBatch;

/**
 * Parses CSV with d3-dsv, which ends records at LF, CRLF and CR alike and accepts any number of fields. `wanted` are the
 * indexes of the wanted columns among `columns` fields. A field that is one of `nulls` counts as empty, quoted or not.
 */
export function csvParser(
  path: string,
  { delimiter, nulls }: CsvFormat,
  columns: number,
  wanted: readonly number[],
): ParseBatch {
  const { parseRows } = dsvFormat(delimiter);
  const empty = new Set(["", ...nulls]);
  const longest = Math.max(0, ...nulls.map(({ length }) => length));
  return (bytes, offset) => {
    const rows: Row[] = [];
    const indexes: number[] = [];
    const misfits: ParsedBatch["misfits"] = [];
    parseRows(decodeText(bytes, path, offset), (fields, index) => {
      const isEmptyLine = fields.length === 1 && fields[0] === "";
      if (fields.length === columns && !isEmptyLine) {
        rows.push(wanted.map((at) => fieldAt(fields, at)));
        indexes.push(index);
      } else if (!isEmptyLine) {
        const what = `has ${fields.length} field${fields.length === 1 ? "" : "s"}, not ${columns}`;
        misfits.push({ index, what });
      }
      return null;
    });
    return { rows, indexes, misfits, offsetOf: (index) => csvOffset(bytes, delimiter, index) };
  };

  /** Most fields are longer than the texts of empty ones, so they need no search. */
  function fieldAt(fields: readonly string[], at: number): Field {
    const text = fields[at] ?? "";
    return text.length > longest || !empty.has(text) ? text : null;
  }
}

/** The fields of each record, for a header. */
export const csvFields = (text: string, delimiter: string): string[][] =>
  dsvFormat(delimiter).parseRows(text);

/** Where a record begins. Records are counted as d3-dsv counts them: with empty lines and lines that end with CR. */
function csvOffset(bytes: Uint8Array, delimiter: string, index: number): number {
  const comma = delimiter.charCodeAt(0);
  let quoted = false;
  let fieldStart = true;
  let remaining = index;
  for (let at = 0; at < bytes.length; at += 1) {
    if (remaining === 0) return at;
    const byte = bytes[at];
    if (byte === 0x22 && (quoted || fieldStart)) {
      // An escaped quote closes and opens again.
      quoted = !quoted;
      fieldStart = !quoted;
      continue;
    }
    const line = byte === 0x0a || (byte === 0x0d && bytes[at + 1] !== 0x0a);
    fieldStart = line || byte === comma;
    if (line && !quoted) remaining -= 1;
  }
  return bytes.length;
}

const { nestingMax } = aggregateLimits;

/**
 * Parses one JSON object per line. A number that no double holds is its text, also within a nested value. A missing column is
 * `null`; the columns of a record are removed from `absent`.
 */
export const ndjsonParser =
  (path: string, wanted: readonly string[], absent: Set<string>): ParseBatch =>
  (bytes, offset) => {
    const rows: Row[] = [];
    const indexes: number[] = [];
    const misfits: ParsedBatch["misfits"] = [];
    let text = decodeText(bytes, path, offset);
    if (offset === 0 && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    for (const [index, line] of text.split("\n").entries()) {
      if (/^[ \t\r]*$/.test(line)) continue;
      const record = parseObject(line);
      if (record === undefined) {
        misfits.push({ index, what: "is not a JSON object" });
        continue;
      }
      const fields = wanted.map((name) => (Object.hasOwn(record, name) ? record[name] : null));
      const deep = fields.findIndex((field) => nestsDeeper(field, nestingMax));
      if (deep !== -1) {
        misfits.push({ index, what: `nests ${wanted[deep]} deeper than ${nestingMax} levels` });
        continue;
      }
      rows.push(fields.map(fieldOf));
      indexes.push(index);
      for (const name of absent) if (Object.hasOwn(record, name)) absent.delete(name);
    }
    return { rows, indexes, misfits, offsetOf: (index) => lineOffset(bytes, index) };
  };

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

function lineOffset(bytes: Uint8Array, index: number): number {
  let at = 0;
  for (let remaining = index; remaining > 0; remaining -= 1) at = bytes.indexOf(0x0a, at) + 1;
  return at;
}

/**
 * Decodes UTF-8 bytes that begin at `offset` of the file. Refuses other bytes instead of replacing them: two keys that
 * differ only in them would become one group. Throws `CalculationError` naming the first such byte.
 */
export function decodeText(bytes: Uint8Array, path: string, offset: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  if (isUtf8(bytes)) return text;
  const at = offset + firstReplaced(text, bytes);
  const message = `${path}: byte ${at} is not UTF-8; convert the file first, for example with iconv`;
  throw new CalculationError("not-utf8", message);
}

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
