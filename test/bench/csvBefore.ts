import { isUtf8 } from "node:buffer";
import { dsvFormat } from "d3-dsv";
import { type Query, queryOf } from "../../src/calculations/aggregate/query.ts";
import type { Field } from "../../src/calculations/aggregate/records.ts";
import { writeResult } from "../../src/calculations/aggregate/writeResult.ts";
import type { Files } from "../../src/calculations/files.ts";
import { lineitemQuery, type Row } from "./calculations/aggregate.ts";
import { jsonOf } from "./calculations/serialRun.ts";
import { rowFolding } from "./csvBeforeFolding.ts";

/**
 * What `aggregate` did on 2026-11-21, before records were cut on bytes, as far as the query of the bench needs it: the record
 * borders of a piece are searched in text, d3-dsv or JSON.parse makes all fields of 64 KB, and rows of them are folded.
 * Its measures are those of today. Checks that cost nothing are left out, as is the planning.
 */
export async function byCodeBefore(kind: "csv" | "ndjson", files: Files): Promise<Row[]> {
  const query = queryOf(lineitemQuery);
  const folding = rowFolding(query);
  const parse = kind === "csv" ? csvRows(query) : ndjsonRows(query);
  const borders = borderScan(kind === "csv");
  let records = 0;
  let held: Uint8Array[] = [];
  const fold = (): void => {
    const [only = new Uint8Array(0), ...more] = held;
    const bytes = more.length === 0 ? only : Buffer.concat(held);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
    if (!isUtf8(bytes)) throw new Error(`${kind} is not UTF-8`);
    const rows = parse(text);
    records += rows.length;
    folding.add(rows);
    held = [];
  };
  for await (const file of files.list(`bench/lineitem.${kind}`)) {
    for await (const piece of files.read(file)) {
      let used = 0;
      for (const border of borders(piece)) {
        held.push(piece.subarray(used, border));
        fold();
        used = border;
      }
      if (used < piece.length) held.push(piece.subarray(used));
    }
  }
  if (held.length > 0) fold();
  return jsonOf(writeResult(query, folding.done(records), "json"))["rows"] as Row[];
}

type Parse = (text: string) => Field[][];

/** Of a file whose first record names the columns. */
function csvRows({ wanted }: Query): Parse {
  const { parseRows } = dsvFormat(",");
  let header: string[] | undefined;
  let places: number[] = [];
  return (text) => {
    const rows: Field[][] = [];
    const numbers: number[] = [];
    parseRows(text, (fields, number) => {
      if (header === undefined) {
        header = fields;
        places = wanted.map((name) => fields.indexOf(name));
      } else if (fields.length === header.length && (fields.length > 1 || fields[0] !== "")) {
        rows.push(places.map((at) => fields[at] || null));
        numbers.push(number);
      }
      return null;
    });
    return rows;
  };
}

function ndjsonRows({ wanted }: Query): Parse {
  return (text) => {
    const rows: Field[][] = [];
    const numbers: number[] = [];
    let from = 0;
    for (let number = 0; from < text.length; number += 1) {
      const end = text.indexOf("\n", from);
      const line = text.slice(from, end === -1 ? text.length : end);
      from = end === -1 ? text.length : end + 1;
      if (/^[ \t\r]*$/.test(line)) continue;
      const record = JSON.parse(line) as Readonly<Record<string, Field>>;
      rows.push(wanted.map((name) => (Object.hasOwn(record, name) ? fieldOf(record[name] as Field) : null)));
      numbers.push(number);
    }
    return rows;
  };
}

const fieldOf = (value: unknown): Field =>
  value !== null && typeof value === "object" ? JSON.stringify(value) : (value as Field);

const batchBytes = 64 * 1024;

/** Finds where records begin in each piece, `batchBytes` or more apart, in latin1 text in which only quotes are visited. */
function borderScan(hasQuotes: boolean): (piece: Uint8Array) => number[] {
  let inside = false;
  let target = batchBytes;
  const scan = (text: string, offset: number, found: number[]): void => {
    const end = text.length;
    const indexOf = (character: string, from: number): number => {
      const index = text.indexOf(character, from);
      return index === -1 ? end : index;
    };
    let wanted = target - offset;
    let line = -1;
    for (let here = 0; here < end; ) {
      const next = hasQuotes ? indexOf('"', here) : end;
      while (!inside && next >= wanted) {
        const first = Math.max(here, wanted - 1);
        if (line < first) line = indexOf("\n", first);
        if (line >= next) break;
        found.push(offset + line + 1);
        wanted = line + 1 + batchBytes;
      }
      // A doubled quote closes and opens again. No field of the file has a quote within that does not begin with one.
      if (next < end) inside = !inside;
      here = next + 1;
    }
    target = offset + wanted;
  };
  return (piece) => {
    const found: number[] = [];
    const buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    for (let start = 0; start < piece.length; start += batchBytes)
      scan(buffer.toString("latin1", start, start + batchBytes), start, found);
    target -= piece.length;
    return found;
  };
}
