import { parseHeld, withHeldNumbers } from "../../../../engine/model/heldNumbers.ts";
import { isRecord, valueText } from "../../../../engine/model/json.ts";

/** What a result looks like on the page; nothing of it is ever read as HTML. */
export type Preview =
  | {
      readonly kind: "table";
      readonly columns: readonly string[];
      readonly rows: readonly (readonly string[])[];
      readonly more: number;
    }
  | { readonly kind: "facts"; readonly facts: readonly (readonly [string, string])[] }
  | { readonly kind: "text"; readonly text: string; readonly cut: boolean }
  | { readonly kind: "picture"; readonly contentType: string }
  | { readonly kind: "none"; readonly why: string };

const rowsMax = 100;
const columnsMax = 50;
const factsMax = 60;
const textMax = 20_000;
/** Text beyond this is not decoded: a preview is for eyes. */
export const previewBytesMax = 4 * 1024 * 1024;

const base = (contentType: string): string => (contentType.split(";")[0] ?? "").trim().toLowerCase();

/** Pure: how bytes of a content type are shown. */
export function previewOf(contentType: string, bytes: Uint8Array): Preview {
  const type = base(contentType);
  if (type === "image/png") return { kind: "picture", contentType: type };
  const isText = type.startsWith("text/") || type === "application/json" || type === "application/x-ndjson";
  if (!isText)
    return { kind: "none", why: `there is no preview of ${type || "an unknown type"}; download it` };
  if (bytes.byteLength > previewBytesMax)
    return { kind: "none", why: "too large for a preview; download it" };
  const text = new TextDecoder().decode(bytes);
  if (type === "application/json") return jsonPreview(text);
  if (type === "text/csv") return csvPreview(text);
  if (type === "application/x-ndjson") return linesPreview(text);
  return textPreview(text);
}

const textPreview = (text: string): Preview => ({
  kind: "text",
  text: text.slice(0, textMax),
  cut: text.length > textMax,
});

function jsonPreview(text: string): Preview {
  let value: unknown;
  try {
    value = parseHeld(text);
  } catch {
    return textPreview(text);
  }
  const list = tableOf(value);
  if (list !== undefined) return list;
  if (isRecord(value)) {
    const entries = Object.entries(value);
    const simple = entries.every(([, one]) => !isRecord(one) && !Array.isArray(one));
    if (simple && entries.length <= factsMax)
      return { kind: "facts", facts: entries.map(([name, one]) => [name, valueText(one)]) };
  }
  return textPreview(withHeldNumbers(text) === text ? JSON.stringify(value, null, 2) : text);
}

function linesPreview(text: string): Preview {
  try {
    return tableOf(text.trimEnd().split("\n").map(parseHeld)) ?? textPreview(text);
  } catch {
    return textPreview(text);
  }
}

/** A list of records is a table, with the columns of all its shown rows. */
function tableOf(value: unknown): Preview | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.slice(0, rowsMax).every(isRecord))
    return undefined;
  const shown = value.slice(0, rowsMax) as readonly Readonly<Record<string, unknown>>[];
  const columns = [...new Set(shown.flatMap((row) => Object.keys(row)))].slice(0, columnsMax);
  const rows = shown.map((row) => columns.map((name) => (name in row ? valueText(row[name]) : "")));
  return { kind: "table", columns, rows, more: value.length - shown.length };
}

function csvPreview(text: string): Preview {
  const { records, more } = csvRecords(text, rowsMax + 1);
  const [columns = [], ...rows] = records.map((record) => record.slice(0, columnsMax));
  return { kind: "table", columns, rows, more };
}

/** The first records of a CSV (RFC 4180), and how many lines follow, which is exact where no field holds a line break. */
export function csvRecords(text: string, max: number) {
  const records: string[][] = [];
  const field = /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|\r|$)/y;
  let record: string[] = [];
  while (records.length < max && field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) break;
    const [, value = "", end = ""] = match;
    record.push(/^".*"$/s.test(value) ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (end === ",") {
      if (field.lastIndex < text.length) continue;
      record.push("");
    }
    records.push(record);
    record = [];
  }
  const rest = field.lastIndex === 0 ? "" : text.slice(field.lastIndex);
  return { records, more: rest.trim() === "" ? 0 : rest.trimEnd().split(/\r?\n|\r/).length };
}
